"""Events of messages, as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from .errors import ResponseError, SendlimitError, Unavailable
from .types import Event

THREE_HEARTBEATS = 45.0
"""Seconds. The API sends a comment every 15 seconds when there are no events."""


@dataclass(frozen=True)
class Followed:
    """An event of a message, or a gap."""

    event: Event | None
    gap_after: str | None = None
    """Events behind the one with this id may be missing: the API does not keep them any more."""


@dataclass
class ServerSent:
    """A server-sent event, or what comes in place of one: a position, or a comment."""

    id: str | None = None
    event: str | None = None
    data: str | None = None
    retry: float | None = None
    """How many seconds to wait before the stream is opened again."""


def parse(lines: Iterable[bytes]) -> Iterator[ServerSent]:
    """Read server-sent events. One that breaks off is left out."""
    sent = ServerSent()
    for line in lines:
        text = line.decode(errors="replace").rstrip("\r")
        if not text:
            yield sent
            sent = ServerSent()
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            sent.id = value
        elif name == "event":
            sent.event = value
        elif name == "data":
            sent.data = value if sent.data is None else f"{sent.data}\n{value}"
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= 6:
            sent.retry = int(value) / 1000


def follow(
    after: str | None,
    start: Callable[[str | None], Iterator[ServerSent]],
    pause: Callable[[SendlimitError, int, bool, float], None],
) -> Iterator[Followed]:
    """Follow events. A stream that ends is started again behind the last event."""
    begun, retry, attempt = False, 0.0, 1
    while True:
        try:
            for sent in start(after):
                begun = True
                retry = retry if sent.retry is None else sent.retry
                after = after if sent.id is None else sent.id
                if sent.id is None or sent.data is not None:
                    attempt = 0  # an event or a heartbeat
                if sent.event == "gap":
                    yield Followed(None, after or "")
                elif sent.data is not None:
                    yield Followed(_event(sent.data))
            raise Unavailable("the API ended the stream")
        except SendlimitError as error:
            pause(error, max(attempt, 1), begun, retry)
            attempt += 1


def _event(data: str) -> Event:
    try:
        return cast(Event, json.loads(data))
    except ValueError:
        raise ResponseError(
            "the answer is none of this API: an event does not have the documented form"
        ) from None
