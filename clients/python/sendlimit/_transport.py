"""Requests over HTTP, on connections that are kept."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import urlsplit

from .cancel import Cancel
from .errors import Cancelled, InvalidRequest, Unavailable

_MOST_IDLE = 16  # connections
_PIECE = 1 << 16  # bytes


class Transport:
    """Sends requests to one server. It is safe for concurrent use."""

    def __init__(self, base_url: str, context: ssl.SSLContext | None) -> None:
        try:
            url = urlsplit(base_url)
            host, port = url.hostname or "", url.port
        except ValueError:
            host, port = "", None
        if not host or url.scheme not in ("http", "https") or "?" in base_url or "#" in base_url:
            # The URL is not repeated: it may hold a password.
            raise InvalidRequest(
                "base_url takes an http or https URL with a host, such as http://127.0.0.1:8080, "
                "and nothing behind its path", "base_url",
            )
        if url.username is not None or url.password is not None:
            raise InvalidRequest("base_url takes no user or password: use a key", "base_url")
        self.base_url = base_url.rstrip("/")
        self._path = url.path.rstrip("/")
        self._connect: Callable[[], HTTPConnection]
        if url.scheme == "https":
            secure = context or ssl.create_default_context()
            self._connect = lambda: HTTPSConnection(host, port, context=secure)
        else:
            self._connect = lambda: HTTPConnection(host, port)
        self._lock = threading.Lock()
        self._idle: list[HTTPConnection] = []
        self._closed = False

    def close(self) -> None:
        """Close the connections that no request is using. Later ones are not kept."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def send(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes | None,
        *,
        timeout: float,
        fresh: bool,
        cancel: Cancel | None,
    ) -> Answer:
        """Send a request once, and return the answer, whose body is still to be read."""
        wait = Wait(timeout, cancel)
        while True:
            connection = None if fresh else self._take()
            kept = connection is not None
            connection = connection or self._connect()
            exchange = Answer(connection, wait, self)
            try:
                exchange.ask(method, self._path + target, headers, body)
                return exchange
            except (ConnectionError, HTTPException) as error:
                exchange.close()
                if kept and not (cancel and cancel.cancelled):
                    continue  # the server closed it meanwhile; at most as often as one is idle
                raise self.unreachable(error, cancel) from error
            except BaseException as error:
                exchange.close()
                if isinstance(error, OSError) or cancel and cancel.cancelled:
                    raise self.unreachable(error, cancel) from error
                raise

    def unreachable(self, error: BaseException, cancel: Cancel | None) -> Unavailable | Cancelled:
        """Return the error for a request without a whole answer."""
        if cancel and cancel.cancelled:
            return Cancelled("the call was cancelled")
        because = "timed out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        return Unavailable(f"no answer from the API at {self.base_url}: {because}")

    def _take(self) -> HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def keep(self, connection: HTTPConnection) -> None:
        """Keep a connection for the next request."""
        with self._lock:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


class Wait:
    """Bounds the wait for the network."""

    def __init__(self, timeout: float, cancel: Cancel | None) -> None:
        self.timeout = timeout
        self.cancel = cancel
        self.restart()

    def restart(self) -> None:
        """Start the time anew."""
        self._until = time.monotonic() + self.timeout

    def left(self) -> float:
        """Return the seconds left; raise TimeoutError if there are none."""
        left = self._until - time.monotonic()
        if self.cancel:
            bound = self.cancel._left()
            left = left if bound is None else min(left, bound)
        if left <= 0 or self.cancel and self.cancel.cancelled:
            raise TimeoutError
        return left


class Answer:
    """An answer whose body is read once."""

    def __init__(self, connection: HTTPConnection, wait: Wait, transport: Transport) -> None:
        self._connection = connection
        self._wait = wait
        self._transport = transport
        self._socket: socket.socket | None = None
        self._response: HTTPResponse | None = None

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> None:
        """Send the request, and read the head of the answer."""
        self._connection.timeout = self._wait.left()
        if self._connection.sock is None:
            self._connection.connect()
        connected = self._connection.sock
        assert connected is not None
        self._socket = connected
        if self._wait.cancel:
            self._wait.cancel._watch(connected)
        connected.settimeout(self._wait.left())
        self._connection.request(method, target, body, headers)
        connected.settimeout(self._wait.left())
        self._response = self._connection.getresponse()

    @property
    def status(self) -> int:
        assert self._response
        return self._response.status

    def header(self, name: str) -> str | None:
        assert self._response
        return self._response.getheader(name)

    def is_type(self, media_type: str) -> bool:
        """Return whether the answer has a media type, with any parameters."""
        return (self.header("Content-Type") or "").split(";")[0].strip().lower() == media_type

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives."""
        assert self._response and self._socket
        try:
            while True:
                self._socket.settimeout(self._wait.left())
                piece = self._response.read1(_PIECE)
                if not piece:
                    break
                yield piece
            if self._response.length:
                raise IncompleteRead(b"", self._response.length)
        except (OSError, HTTPException, ValueError) as error:
            self.close()
            raise self._transport.unreachable(error, self._wait.cancel) from error
        self._release()

    def restart(self) -> None:
        """Start the time anew that bounds the wait for the next piece."""
        self._wait.restart()

    def _release(self) -> None:
        """Keep the connection, if another request can use it."""
        assert self._response
        kept = self._connection.sock is not None and not self._response.will_close
        self._response.close()  # or the connection would wait for its end
        self._leave()
        if kept:
            self._transport.keep(self._connection)
        else:
            self._connection.close()

    def close(self) -> None:
        """Close the connection, if the body was not read to its end."""
        if self._leave():
            if self._response:
                self._response.close()
            self._connection.close()

    def _leave(self) -> bool:
        """Stop watching for a cancel. Return whether that was still to be done."""
        taken, self._socket = self._socket, None
        if taken and self._wait.cancel:
            self._wait.cancel._leave(taken)
        return taken is not None or self._response is None
