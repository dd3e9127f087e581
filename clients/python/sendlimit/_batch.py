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


@dataclass(frozen=True)
class BatchResult:
    """The answer to one message of a batch."""

    index: int
    """Of the message in the batch, from 0."""
    message: api.Draft
    """The message with its id."""
    accepted: api.Outcome | None
    """The answer, if the message is accepted."""
    error: Refusal | InvalidRequest | None
    """Why it is not."""


def submit_all(
    messages: Iterable[api.Draft],
    send: Callable[[list[api.Draft]], Iterator[dict[str, Any]]],
    pause: Callable[[SendlimitError, int], None],
) -> Iterator[BatchResult]:
    """Submit messages in requests of at most MOST_LINES, and yield the results in order."""
    index = 0
    for waiting in _groups(messages):
        attempt = 1
        while waiting:
            answered = 0
            try:
                for line in send(waiting):
                    result = _result(index, waiting, answered, line)
                    index += 1
                    answered += 1
                    yield result
                if answered < len(waiting):
                    raise Unavailable("the API ended its answers before the last message")
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


def _groups(messages: Iterable[api.Draft]) -> Iterator[list[api.Draft]]:
    some: list[api.Draft] = []
    for message in messages:
        some.append(cast(api.Draft, {**message, "id": message.get("id") or new_id()}))
        if len(some) == MOST_LINES:
            yield some
            some = []
    if some:
        yield some


def _result(index: int, waiting: list[api.Draft], answered: int, line: dict[str, Any]) -> BatchResult:
    due = answered + 1
    if answered == len(waiting):
        raise ResponseError("the API answered more lines than it was asked")
    if line.get("line") != due:
        raise ResponseError(f"the API answered line {line.get('line')} where line {due} was due")
    message = waiting[answered]
    outcome = cast(api.Outcome, line)
    if outcome["outcome"] == "accepted":
        return BatchResult(index, message, outcome, None)
    if outcome["outcome"] == "refused":
        return BatchResult(index, message, None, Refusal(outcome))
    if outcome["outcome"] == "invalid":
        return BatchResult(index, message, None, invalid_of(line))
    raise error_of(line) or ResponseError(f"line {due} is of no known kind")
