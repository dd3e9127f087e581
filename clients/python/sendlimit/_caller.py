"""Sends requests, and sends them again."""

from __future__ import annotations

import json
import math
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote, urlencode

from . import _problems as problems
from ._events import THREE_HEARTBEATS, ServerSent
from ._events import parse as parse_server_sent
from ._ids import new_id
from ._retry import wait_before
from ._transport import Answer, Transport
from .cancel import Cancel
from .errors import Cancelled, InvalidRequest, SendlimitError, Unavailable
from .pages import Pages

_LONGEST_ANSWER = 16 << 20  # bytes; a page of 1,000 messages is much smaller
_LONGEST_LINE = 1 << 20  # of a problem, too


@dataclass
class Request:
    """A request that can be repeated."""

    method: str
    path: str
    body: object = None
    lines: list[Any] | None = None
    """The lines of the body, in place of body."""
    query: Mapping[str, object] = field(default_factory=dict)
    if_match: str | None = None
    if_none_match: str | None = None
    keyed: bool = False
    """It takes an idempotency key."""
    idempotency_key: str | None = None
    once: bool = False
    """It would be done twice if it were sent twice."""

    def target(self, cursor: str | None = None) -> str:
        """Return the path with the query."""
        given = dict(self.query)
        if cursor:
            given["cursor"] = cursor
        query = {name: _in_query(value) for name, value in given.items() if value is not None}
        return f"{self.path}?{urlencode(query)}" if query else self.path

    def content(self) -> tuple[dict[str, str], bytes | None]:
        """Return the headers and the body."""
        headers = {"Accept": "application/json, application/x-ndjson, text/event-stream, application/problem+json"}
        key = self.idempotency_key
        if self.keyed and not key and not (isinstance(self.body, dict) and self.body.get("id")):
            key = new_id()  # the same for every try
        given = {"If-Match": self.if_match, "If-None-Match": self.if_none_match, "Idempotency-Key": key}
        for name, value in given.items():
            if value is None:
                continue
            if not re.fullmatch(r"[ -~]+", value):
                raise InvalidRequest(f"{name} takes printable ASCII", name)
            headers[name] = value
        if self.lines is not None:
            headers["Content-Type"] = "application/x-ndjson"
            return headers, b"".join(_json(line) + b"\n" for line in self.lines)
        if self.body is None:
            return headers, None
        headers["Content-Type"] = "application/json"
        return headers, _json(self.body)


class Caller:
    """Calls the API at a base URL. It is safe for concurrent use."""

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        attempts: int = 4,
        timeout: float = 30,
        max_retry_after: float = 30,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Make a client.

        key is the account's API key, which is sent with every request. Over http://
        everybody on the path can read it.

        attempts is how often a request is sent at most, 1 to 100. timeout is how many
        seconds one try may take; for a stream it bounds the wait for each line.
        max_retry_after is the longest Retry-After to wait for, in seconds: a longer one
        ends the attempts.
        """
        if not re.fullmatch(r"[!-~]*", key or ""):
            raise InvalidRequest("key takes visible ASCII characters without spaces", "key")
        if not 1 <= attempts <= 100:
            raise InvalidRequest(f"attempts {attempts} is not allowed: use 1 to 100", "attempts")
        for name, seconds in (("timeout", timeout), ("max_retry_after", max_retry_after)):
            if not 0 < seconds < 1e6:
                raise InvalidRequest(f"{name} {seconds} is not allowed: use seconds above zero", name)
        self._transport = Transport(base_url, ssl_context)
        # A function, so that a printed client shows no key.
        self._authorize: Callable[[], dict[str, str]] = lambda: {"Authorization": f"Bearer {key}"} if key else {}
        self._attempts = attempts
        self._timeout = timeout
        self._max_retry_after = max_retry_after

    def close(self) -> None:
        """Close the connections that no call is using."""
        self._transport.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, seconds: float, cancel: Cancel | None) -> None:
        """Wait before the next try."""
        (cancel or Cancel())._wait(seconds)

    def _value(self, request: Request, cancel: Cancel | None, cursor: str | None = None) -> Any:
        """Make a call, and return the answer."""
        return self._answer(request, cancel, cursor)[0]

    def _versioned(self, request: Request, cancel: Cancel | None) -> Any:
        """Make a call whose answer has its version in a header."""
        value, etag = self._answer(request, cancel)
        if etag is None:
            raise problems.undocumented("it has no ETag")
        return {**value, "etag": etag}

    def _pages(self, request: Request, member: str, cancel: Cancel | None) -> Pages[Any, Any]:
        """Make a call for each page of a list."""
        return Pages(lambda cursor: self._value(request, cancel, cursor), member)

    def _lines(self, request: Request, cancel: Cancel | None) -> Iterator[Any]:
        """Make a call that is answered with lines, and yield them.

        It is sent again until the first line.
        """
        attempt = 1
        while True:
            begun = whole = False
            try:
                for line in self._stream(request, cancel):
                    begun = True
                    last = "dry_run|refitted|exported|erased|campaign_.*"
                    whole = bool(re.fullmatch(last, line.get("outcome", "")))
                    yield line
                if not whole:
                    raise Unavailable("the answer ended before its summary")
                return
            except SendlimitError as error:
                if begun:
                    raise
                self._pause(error, attempt, request, cancel)
                attempt += 1

    def _stream(self, request: Request, cancel: Cancel | None) -> Iterator[dict[str, Any]]:
        """Send a request once, and yield the lines of its answer. One with an error is raised."""
        headers, body = request.content()
        with closing(self._send(request, request.target(), headers, body, cancel)) as answer:
            if not answer.is_type("application/x-ndjson"):
                raise problems.undocumented("it is not application/x-ndjson", answer)
            for n, text in enumerate(filter(bytes.strip, _lines_of(answer)), 1):
                line = problems.parse(text, f"line {n}", answer)
                error = problems.error_of(line)
                if error:
                    raise error
                yield line
                answer.restart()

    def _server_sent(self, request: Request, cancel: Cancel | None) -> Iterator[ServerSent]:
        """Send a request once, and yield the server-sent events of its answer."""
        headers, body = request.content()
        timeout = max(self._timeout, THREE_HEARTBEATS)
        with closing(self._send(request, request.target(), headers, body, cancel, timeout)) as answer:
            if not answer.is_type("text/event-stream"):
                raise problems.undocumented("it is not text/event-stream", answer)
            for sent in parse_server_sent(_lines_of(answer)):
                yield sent
                answer.restart()

    def _pause(
        self,
        error: SendlimitError,
        attempt: int,
        request: Request,
        cancel: Cancel | None,
        begun: bool = False,
        least: float = 0,
    ) -> None:
        """Wait until the next try. It raises the error if there is none.

        What has begun goes on for as long as it takes. least is the shortest wait.
        """
        attempts = math.inf if begun and self._attempts > 1 else self._attempts
        seconds = wait_before(error, attempt, request.once, attempts, self._max_retry_after)
        if seconds is None:
            raise error
        self._wait(max(seconds, least), cancel)
        if cancel and cancel.cancelled:
            raise Cancelled("the call was cancelled") from error

    def _answer(self, request: Request, cancel: Cancel | None, cursor: str | None = None) -> tuple[Any, str | None]:
        headers, body = request.content()
        target = request.target(cursor)
        attempt = 1
        while True:
            try:
                with closing(self._send(request, target, headers, body, cancel)) as answer:
                    if not answer.is_type("application/json"):
                        raise problems.undocumented("it is not application/json", answer)
                    text = problems.read(answer, _LONGEST_ANSWER)
                    return problems.parse(text, "its body", answer), answer.header("ETag")
            except SendlimitError as error:
                self._pause(error, attempt, request, cancel)
                attempt += 1

    def _send(
        self,
        request: Request,
        target: str,
        headers: dict[str, str],
        body: bytes | None,
        cancel: Cancel | None,
        timeout: float | None = None,
    ) -> Answer:
        """Send a request once. It returns the answer if that is a success, and raises otherwise."""
        if cancel and cancel.cancelled:
            raise Cancelled("the call was cancelled")
        answer = self._transport.send(
            request.method, target, {**headers, **self._authorize()}, body,
            timeout=timeout or self._timeout, fresh=request.once, cancel=cancel,
        )
        if answer.status in (200, 201):
            return answer
        with closing(answer):
            raise problems.problem_of(answer, _LONGEST_LINE)


def segment(name: str, value: str) -> str:
    """Return a name as one segment of a path. "." and ".." would mean a folder."""
    if not value:
        raise InvalidRequest(f"{name} is missing", name)
    if value in (".", ".."):
        return value.replace(".", "%2E")
    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise InvalidRequest(f"{name} takes UTF-8", name) from None


def _in_query(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _spelled(value) if isinstance(value, datetime) else str(value)


def _json(value: object) -> bytes:
    try:
        return json.dumps(value, default=_spelled, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the request takes UTF-8") from None


def _spelled(value: object) -> str:
    """Return a time as the API reads it."""
    if not isinstance(value, datetime):
        raise TypeError(f"a request takes no {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidRequest("a datetime needs a time zone, such as datetime.now(timezone.utc) has")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _lines_of(answer: Answer) -> Iterator[bytes]:
    """Yield the lines of a body."""
    rest = b""
    for piece in answer.pieces():
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE:
            raise problems.undocumented(f"a line has more than {_LONGEST_LINE} bytes", answer)
        answer.restart()
    if rest:
        yield rest
