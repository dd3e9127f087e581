"""Answers that are not a success."""

from __future__ import annotations

import json
from typing import Any, cast

from . import types as api
from ._retry import retry_after
from ._transport import Answer
from .errors import InvalidRequest, Refusal, ResponseError, SendlimitError, Unavailable


def read(answer: Answer, most: int) -> bytes:
    """Read the body of an answer, up to a size."""
    text = bytearray()
    for piece in answer.pieces():
        text += piece
        if len(text) > most:
            raise undocumented(f"it has more than {most} bytes", answer)
    return bytes(text)


def parse(text: bytes, what: str, answer: Answer) -> dict[str, Any]:
    """Decode an object of an answer."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None  # the text is not repeated: it may come from any server
    if not isinstance(value, dict):
        raise undocumented(f"{what} does not have the documented form", answer)
    return value


def undocumented(why: str, answer: Answer | None = None) -> ResponseError:
    """Return the error for a success that this API does not send."""
    return ResponseError(
        f"the answer is none of this API: {why}",
        status=answer.status if answer else None, request_id=answer.header("X-Request-Id") if answer else None,
    )


def problem_of(answer: Answer, most: int) -> SendlimitError:
    """Return the error that an answer other than a success means."""
    outcome: dict[str, Any] = {}
    if answer.is_type("application/problem+json"):
        text = read(answer, most)
        try:
            outcome = parse(text, "", answer)
        except ResponseError:
            pass  # go by the status
    status, code, detail = answer.status, outcome.get("code"), outcome.get("detail")
    request_id, after = answer.header("X-Request-Id"), retry_after(answer.header)
    if status in (408, 502, 503, 504):
        return Unavailable(
            detail or f"the API is unavailable: HTTP status {status}",
            code=code, status=status, request_id=request_id, retry_after=after,
        )
    refused = cast(api.Outcome, {"outcome": "refused", **outcome})
    if status == 429:
        return Refusal(refused, code=code or "rate_limited", status=status, request_id=request_id, retry_after=after)
    # not_found without a user and a field means that the API does not have the address: it
    # is another API, which says nothing about a message.
    elsewhere = code == "not_found" and not outcome.get("user") and not outcome.get("field")
    if outcome.get("outcome") == "refused" and not elsewhere:
        return Refusal(refused, status=status, request_id=request_id, retry_after=after)
    if outcome.get("outcome") == "invalid":
        return InvalidRequest(
            detail or "the request is invalid", outcome.get("field"),
            code=code, status=status, request_id=request_id,
        )
    if 300 <= status < 400:
        detail = "the API answered with a redirect, which is not followed"
    else:
        detail = f"HTTP status {status}: {detail or 'an answer that the API does not document'}"
    return ResponseError(detail, code=code, status=status, request_id=request_id, retry_after=after)


def error_of(line: dict[str, Any]) -> SendlimitError | None:
    """Return the error of a line that ends a stream, or None for any other line."""
    if line.get("outcome") != "error":
        return None
    code, after = line.get("code"), line.get("retry_after_seconds")
    # rate_limited: the account's lines of a minute are used up.
    if code in ("rate_limited", "refit_running", "version_mismatch"):
        return Refusal(cast(api.Outcome, line))
    if code == "invalid_field":
        return invalid_of(line)
    if code in ("unavailable", "store_full", "store_unfit"):
        return Unavailable(line.get("detail") or "the API is unavailable", code=code, retry_after=after)
    return ResponseError(line.get("detail") or "the API ended the stream with an error", code=code, retry_after=after)


def invalid_of(line: dict[str, Any]) -> InvalidRequest:
    """Return the error for an outcome that is invalid."""
    return InvalidRequest(line.get("detail") or "the request is invalid", line.get("field"), code=line.get("code"))
