"""What the calls raise. No error contains the key."""

from __future__ import annotations

from datetime import datetime

from . import types as api


class SendlimitError(Exception):
    """The class of all errors of this client."""

    _usual_code: str | None = None  # of an error that the API has given no code

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        """A sentence for a person."""
        self.code = code or self._usual_code
        """What is wrong, as a word for programs: see types.Code. More may be added."""
        self.status = status
        """The HTTP status; None without an answer, and within a stream."""
        self.request_id = request_id
        """Identifies the request in the API's log."""
        self.retry_after = retry_after
        """How many seconds to wait, if the API said so."""


class Refusal(SendlimitError):
    """The request was judged and refused.

    The same request is refused again until something else changes.
    """

    code: str

    def __init__(
        self,
        answer: api.Outcome,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        code = answer.get("code") or code or ""
        if retry_after is None:
            retry_after = answer.get("retry_after_seconds")
        super().__init__(
            answer.get("detail") or f"refused: {code}",
            code=code, status=status, request_id=request_id, retry_after=retry_after,
        )
        self.answer = answer
        """The whole answer."""

    @property
    def violations(self) -> list[api.Violation]:
        """Every rule that the message would break, in the policy's order; with send_limit."""
        return self.answer.get("violations", [])

    @property
    def quiet_hours(self) -> api.QuietHours | None:
        """The quiet hours that contain the send time; with quiet_hours."""
        return self.answer.get("quiet_hours")

    @property
    def next_free_at(self) -> datetime | None:
        """The next free time. Submitting at it is accepted if nothing else came first."""
        return _time(self.answer.get("next_free_at"))

    @property
    def previous_free_at(self) -> datetime | None:
        """The last free time before the requested one."""
        return _time(self.answer.get("previous_free_at"))

    @property
    def resets_at(self) -> datetime | None:
        """The end of the hour or day whose quota is used up; with quota_exceeded."""
        return _time(self.answer.get("resets_at"))


class InvalidRequest(SendlimitError):
    """The request is wrong. Nothing was done."""

    code: str
    _usual_code = "invalid_field"

    def __init__(
        self,
        detail: str,
        field: str | None = None,
        *,
        code: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(detail, code=code, status=status, request_id=request_id)
        self.field = field
        """The field or option that is wrong, of several the first."""


class Unavailable(SendlimitError):
    """The API or its store can't be used right now.

    The request may have been done. To send it again is safe if the message has the same id.
    """

    code: str
    _usual_code = "unavailable"


class ResponseError(SendlimitError):
    """Any other answer.

    It is about the key (unauthorized, forbidden), an error of the API itself, or one from
    another server.
    """


class Cancelled(SendlimitError):
    """The caller's Cancel ended the call. Whether the API did what was asked is unknown."""


class BatchError(SendlimitError):
    """A batch ended before its last message. Earlier results are valid."""

    def __init__(self, unanswered: list[api.Draft], cause: SendlimitError) -> None:
        super().__init__(
            f"the batch ended with {len(unanswered)} messages unanswered: {cause}",
            code=cause.code, status=cause.status, request_id=cause.request_id, retry_after=cause.retry_after,
        )
        self.unanswered = unanswered
        """The messages that were read and have no result, with their ids.

        Some may have been accepted; to submit them again with these ids is safe.
        """


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
