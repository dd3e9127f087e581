"""The client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from . import types as api
from ._batch import BatchResult, check_all, submit_all
from ._caller import Request
from ._events import Followed, follow
from ._operations import Operations
from .cancel import Cancel


class Client(Operations):
    """Calls the API. It is safe for concurrent use.

    Each method has the name of its operation in the OpenAPI document, in Python's style. A
    call that does not succeed raises a SendlimitError: Refusal, InvalidRequest, Unavailable
    or ResponseError.

    A request without an answer, or with status 408, 429, 502, 503 or 504, is sent again
    after a wait that doubles, or the wait that Retry-After asks for. That is safe: a message
    has its id before it is first sent, so it is never submitted twice. What would be done
    twice, such as adding a key, is sent again only if the API had no room for it.
    """

    def __enter__(self) -> Client:
        return self

    def submit_batch(
        self,
        messages: Iterable[api.Draft],
        *,
        without_free_times: bool | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[BatchResult]:
        """Submit any number of messages, and yield the result of each in order.

        It reads up to 500 messages and submits them in one request; then it reads the next
        ones. Each user's messages are judged in their order. If a request breaks, the
        messages without an answer are sent again. If the batch ends before its last
        message, it raises a BatchError.

        A message without an id gets a new one; a batch that may be run again needs ids. Who
        leaves the loop early does not learn the outcome of messages under way.

        without_free_times leaves the free times out of refusals, which then come faster.
        """
        request = Request("POST", "/v1/messages/batch", query={"without_free_times": without_free_times})
        return submit_all(
            messages,
            lambda some: self._stream(replace(request, lines=some), cancel),
            lambda error, attempt: self._pause(error, attempt, request, cancel),
        )

    def record_sent(self, messages: Iterable[api.Draft], *, cancel: Cancel | None = None) -> Iterator[BatchResult]:
        """Count messages that another system has sent, each at its send_at, which has passed.

        Nothing is judged or delivered, but they count when later messages are judged. Title
        and body are not needed. It requires the scope admin. Requests and results are as
        those of submit_batch.
        """
        request = Request("POST", "/v1/messages/batch/record-sent")
        return submit_all(
            messages,
            lambda some: self._stream(replace(request, lines=some), cancel),
            lambda error, attempt: self._pause(error, attempt, request, cancel),
        )

    def check_batch(
        self,
        messages: Iterable[api.Draft],
        *,
        without_free_times: bool | None = None,
        what_if: str | None = None,
        what_if_policy: api.PolicyDocument | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[BatchResult]:
        """Say what would become of the messages of a batch, and take nothing.

        Earlier messages count. A dry run has at most 1,000 messages: the API takes 10,000, but
        answers while it reads, and this client first sends everything. what_if has rules that
        replace those of the policy, with commas between them. what_if_policy replaces the
        stored policy of its name, "default" if it has none. Both require the scope admin.

        Results come as submit_batch yields them. A dry run that breaks after its first
        result is not sent again: what it had judged is lost, and it raises a BatchError.
        """
        first: list[object] = [] if what_if_policy is None else [what_if_policy]
        request = Request(
            "POST",
            "/v1/messages/batch/dry-run",
            query={
                "without_free_times": without_free_times,
                "what_if": what_if,
                "what_if_policy": True if first else None,
            },
        )
        return check_all(
            messages,
            len(first),
            lambda some: self._stream(replace(request, lines=[*first, *some]), cancel),
            lambda error, attempt: self._pause(error, attempt, request, cancel),
        )

    def follow_events(
        self, *, account: str | None = None, after: str | None = None, cancel: Cancel | None = None
    ) -> Iterator[Followed]:
        """Follow what becomes of messages, from now on or behind the event with the id in after.

        It ends only with an error, or when the loop is left.

        A stream that breaks is opened again behind the last event, for as long as it takes.
        A gap says that events may be missing. Each event comes at least once, those of a
        message in the order of its changes. To go on later, keep the id of the last event
        that you have handled.
        """
        request = Request("GET", "/v1/events")
        return follow(
            after,
            lambda after: self._server_sent(replace(request, query={"account": account, "after": after}), cancel),
            lambda error, attempt, begun, least: self._pause(error, attempt, request, cancel, begun, least),
        )

    def read_events(
        self,
        *,
        account: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> api.Events:
        """Read a page of events behind the one with the id in after.

        By default it begins with the oldest one that is kept.
        """
        query = {"account": account, "after": after, "limit": limit, "follow": False}
        answer: api.Events = self._value(Request("GET", "/v1/events", query=query), cancel)
        return answer
