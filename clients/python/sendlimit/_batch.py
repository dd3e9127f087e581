"""Batches of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from . import types as api
from ._ids import new_id
from ._problems import error_of, invalid_of
from .errors import BatchError, InvalidRequest, Refusal, ResponseError, SendlimitError, Unavailable

MOST_LINES = 500
"""How many messages a request has at most."""

MOST_CHECKED = 1000
"""How many messages a dry run has at most.

The API takes 10,000, but it answers while it reads, and this client reads no answer before
it has sent everything. A dry run can't be split: its earlier messages count.
"""


@dataclass(frozen=True)
class BatchResult:
    """The answer to one message of a batch."""

    index: int
    """Of the message in the batch, from 0."""
    message: api.Draft
    """The message with its id."""
    accepted: api.Outcome | None
    """The answer, if the message is accepted or recorded."""
    error: Refusal | InvalidRequest | None
    """Why it is not."""


Send = Callable[[list[api.Draft]], Iterator[dict[str, Any]]]
"""Sends messages once, and yields the lines of the answer."""

Pause = Callable[[SendlimitError, int], None]
"""Waits until the next try. It raises the error if there is none."""


def submit_all(messages: Iterable[api.Draft], send: Send, pause: Pause) -> Iterator[BatchResult]:
    """Submit messages in requests of at most MOST_LINES, and yield the results in order."""
    index = 0
    for waiting in _groups(messages, MOST_LINES):
        attempt = 1
        while waiting:
            answered = 0
            try:
                for result in _results(waiting, index, 0, send):
                    index += 1
                    answered += 1
                    yield result
                waiting = []
            except SendlimitError as error:
                if answered:
                    attempt = 1
                waiting = waiting[answered:]
                try:
                    pause(error, attempt)
                except SendlimitError as last:
                    raise BatchError(waiting, last) from last
                attempt += 1


def check_all(messages: Iterable[api.Draft], before: int, send: Send, pause: Pause) -> Iterator[BatchResult]:
    """Judge messages in one request, and yield the results in order.

    It is sent again until the first result: after that, what was judged is lost. before is
    how many lines come before the messages.
    """
    waiting: list[api.Draft] = next(_groups(messages, MOST_CHECKED + 1), [])
    if len(waiting) > MOST_CHECKED:
        most = f"messages has more than {MOST_CHECKED}, the most of a dry run with this client"
        raise InvalidRequest(f"{most}: check fewer at a time", "messages")
    attempt = 1
    while waiting:
        answered = 0
        try:
            for result in _results(waiting, 0, before, send):
                answered += 1
                yield result
            return
        except SendlimitError as error:
            try:
                if answered:
                    raise
                pause(error, attempt)
            except SendlimitError as last:
                raise BatchError(waiting[answered:], last) from last
            attempt += 1


def _results(waiting: list[api.Draft], index: int, before: int, send: Send) -> Iterator[BatchResult]:
    """Send messages once, and yield their results, which begin with an index."""
    answered = 0
    for line in send(waiting):
        if answered == len(waiting):
            raise ResponseError("the API answered more lines than it was asked")
        yield _result(index + answered, waiting[answered], before + answered + 1, line)
        answered += 1
    if answered < len(waiting):
        raise Unavailable("the API ended its answers before the last message")


def _groups(messages: Iterable[api.Draft], most: int) -> Iterator[list[api.Draft]]:
    some: list[api.Draft] = []
    for message in messages:
        some.append(cast(api.Draft, {**message, "id": message.get("id") or new_id()}))
        if len(some) == most:
            yield some
            some = []
    if some:
        yield some


def _result(index: int, message: api.Draft, due: int, line: dict[str, Any]) -> BatchResult:
    if line.get("line") != due:
        raise ResponseError(f"the API answered line {line.get('line')} where line {due} was due")
    outcome = cast(api.Outcome, line)
    if outcome["outcome"] in ("accepted", "recorded"):
        return BatchResult(index, message, outcome, None)
    if outcome["outcome"] == "refused":
        return BatchResult(index, message, None, Refusal(outcome))
    if outcome["outcome"] == "invalid":
        return BatchResult(index, message, None, invalid_of(line))
    raise error_of(line) or ResponseError(f"line {due} is of no known kind")
