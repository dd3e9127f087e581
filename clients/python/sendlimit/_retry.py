"""When a request is sent again."""

from __future__ import annotations

import random
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from .errors import Refusal, SendlimitError, Unavailable

_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 5.0
_LONGEST_RETRY_AFTER = 365 * 24 * 3600.0


def wait_before(
    error: SendlimitError, attempt: int, once: bool, attempts: float, max_retry_after: float
) -> float | None:
    """Return the seconds before the next try; None if a retry is of no use.

    A request that would be done twice is sent again only if the API did not begin it.
    """
    busy = isinstance(error, Refusal) and error.code == "rate_limited"
    if attempt >= attempts or not (busy or isinstance(error, Unavailable) and not once):
        return None
    after = error.retry_after or 0
    return None if after > max_retry_after else after + _backoff(attempt)


def _backoff(attempt: int) -> float:
    """Return a wait that doubles with each attempt.

    Half of it is random, so that callers who failed together do not retry together. It is
    added to Retry-After for the same reason.
    """
    whole: float = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(attempt - 1, 9))
    return whole / 2 + random.random() * whole / 2


def retry_after(header: Callable[[str], str | None]) -> float | None:
    """Read Retry-After: seconds or an HTTP date; None for anything else.

    A date is compared with the answer's own Date, so that the two clocks need not agree.
    """
    value = (header("Retry-After") or "").strip()
    if value.isascii() and value.isdigit():
        # Python does not read a number of thousands of digits.
        return _LONGEST_RETRY_AFTER if len(value) > 9 else min(float(value), _LONGEST_RETRY_AFTER)
    try:
        seconds = (parsedate_to_datetime(value) - parsedate_to_datetime(header("Date") or "")).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(seconds, _LONGEST_RETRY_AFTER) if seconds > 0 else None
