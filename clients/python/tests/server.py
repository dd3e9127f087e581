"""A server that answers by a script, and the address of a real API."""

from __future__ import annotations

import json
import os
import socket
import threading
import unittest
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import urlsplit

from sendlimit import Cancel, Client
from sendlimit.types import Draft

UNAVAILABLE = {"outcome": "error", "code": "unavailable", "detail": "no Redis"}
MESSAGE: Draft = {"user": "alice", "send_at": "2026-11-22T11:11:11Z", "title": "Your table is ready"}


def draft(**changes: Any) -> Draft:
    """Return MESSAGE with changes."""
    return cast(Draft, {**MESSAGE, **changes})


def api_url() -> str:
    """Return the address of a real API. The tests of the project start a worker for it."""
    return os.environ["SENDLIMIT_URL"]


@dataclass
class Asked:
    """What a server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


class Answering(BaseHTTPRequestHandler):
    """Answers with the script of its server."""

    protocol_version = "HTTP/1.1"
    server: Scripted

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = self.server.asked
        asked.append(Asked(self.command, self.path, headers, body, self.client_address[1]))
        self.server.script(self, len(asked) - 1)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do

    def reply(self, status: int, body: object, **headers: str) -> None:
        """Answer with JSON."""
        kind = "application/json" if status < 300 else "application/problem+json"
        self.send(status, kind, json.dumps(body).encode(), **headers)

    def send(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        self.send_response_only(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), "X-Request-Id": "r-1", **given}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def accept(self) -> None:
        """Answer that a message is accepted."""
        self.reply(201, {"outcome": "accepted", "id": "a", "user": "alice", "send_at": "2026-11-22T11:11:11.000Z"})

    def lines(self, lines: list[dict[str, Any]], whole: bool = True) -> None:
        """Answer with lines. Without whole, more are announced, and the connection is cut."""
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        length = len(body) if whole else len(body) + 10
        self.send(200, "application/x-ndjson", body, Content_Length=str(length))
        if not whole:
            self.cut()

    def cut(self) -> None:
        """Close the connection."""
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


Script = Callable[[Answering, int], None]


class Scripted(ThreadingHTTPServer):
    """A server with a script."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.script = script
        self.asked: list[Asked] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients that leave are part of the tests."""


class Noted(Client):
    """A client that notes its waits, and does not wait."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self.waits: list[float] = []

    def _wait(self, seconds: float, cancel: Cancel | None) -> None:
        self.waits.append(seconds)


class Cutting:
    """Passes connections on to a real API until they are cut."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def cut(self) -> None:
        """Cut the connections that are open."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.cut()
        for thread in self._threads:
            thread.join()
        for one in (self._listener, *self._open):
            one.close()

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        api = urlsplit(api_url())
        with suppress(OSError):  # the end
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((api.hostname or "", api.port or 80))
                self.connections += 1
                self._open += [near, far]
                self._start(self._pass_on, near, far)
                self._start(self._pass_on, far, near)

    def _pass_on(self, from_: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := from_.recv(1 << 16):
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)


class ScriptedTest(unittest.TestCase):
    """A test with servers that answer by a script."""

    def scripted(self, script: Script, **options: Any) -> tuple[Noted, Scripted]:
        """Start a server, and return a client of it."""
        server = Scripted(script)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        client = Noted(server.url, **options)

        def stop() -> None:
            client.close()
            server.shutdown()
            thread.join()
            server.server_close()

        self.addCleanup(stop)
        return client, server
