# Written by "make clients" from the OpenAPI document. Do not edit it.
"""The operations of the API, by the names that the OpenAPI document gives them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from . import types as api
from ._caller import Caller, Request, segment
from .cancel import Cancel
from .pages import Pages


class Operations(Caller):
    """Has a method for each operation."""

    def list_accounts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Accounts, api.Account]:
        """List the accounts.

        Sorted by name.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/accounts",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "accounts", cancel)

    def create_account(
        self,
        body: api.AccountDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.Account:
        """Create an account.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            "/v1/accounts",
            body=body,
            once=True,
        )
        answer: api.Account = self._value(request, cancel)
        return answer

    def get_account(
        self,
        account: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.AccountDetails:
        """Get an account.

        With its usage, and its callback and its progress. How many messages of the present
        hour and day are charged: those that were sent and those still scheduled, by their
        send times. Messages of later hours and days count there. If the tier limits requests
        per day, also the number of requests.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/accounts/{segment('account', account)}",
        )
        answer: api.AccountDetails = self._value(request, cancel)
        return answer

    def change_account(
        self,
        account: str,
        body: api.AccountPatch,
        *,
        cancel: Cancel | None = None,
    ) -> api.Account:
        """Change an account.

        Takes effect within a second in every process. Messages already charged stay charged.

        Requires the scope admin.
        """
        request = Request(
            "PATCH",
            f"/v1/accounts/{segment('account', account)}",
            body=body,
        )
        answer: api.Account = self._value(request, cancel)
        return answer

    def remove_callback(
        self,
        account: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Account:
        """Remove the callback of an account.

        Removes the URL and its secret. Dead events stay. Each request is an entry of the
        audit log, and the contact of the account is informed.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/accounts/{segment('account', account)}/callback",
        )
        answer: api.Account = self._value(request, cancel)
        return answer

    def set_callback(
        self,
        account: str,
        body: api.CallbackDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.Callback:
        """Set the callback of an account.

        Workers post the events of the account's messages to the URL, in signed batches of
        CloudEvents: see the webhook `events`. A first URL gets the events from now on;
        another URL continues where the former one stopped. The answer to the request that
        creates the secret shows it. The events contain the metadata of the account's
        messages: for another account the scope content is required too. Each request is an
        entry of the audit log, and the contact of the account is informed of a change.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            f"/v1/accounts/{segment('account', account)}/callback",
            body=body,
            once=True,
        )
        answer: api.Callback = self._value(request, cancel)
        return answer

    def rotate_callback_secret(
        self,
        account: str,
        body: api.SecretRotation,
        *,
        cancel: Cancel | None = None,
    ) -> api.Callback:
        """Replace the secret of a callback.

        During the overlap both secrets sign, so that you can install the new one:
        `webhook-signature` has two signatures then. Each request, even a repeated one,
        creates a secret and an entry of the audit log, and informs the contact of the
        account.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/accounts/{segment('account', account)}/callback/rotate",
            body=body,
            once=True,
        )
        answer: api.Callback = self._value(request, cancel)
        return answer

    def add_account_key(
        self,
        account: str,
        body: api.KeyDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.NewKey:
        """Add an API key to an account.

        The other keys stay valid. rotateAccountKey replaces one. Each request creates a key,
        even a repeated one.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/accounts/{segment('account', account)}/keys",
            body=body,
            once=True,
        )
        answer: api.NewKey = self._value(request, cancel)
        return answer

    def remove_account_key(
        self,
        account: str,
        key: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Account:
        """Remove an API key.

        The key becomes invalid within a second in every process.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/accounts/{segment('account', account)}/keys/{segment('key', key)}",
        )
        answer: api.Account = self._value(request, cancel)
        return answer

    def rotate_account_key(
        self,
        account: str,
        key: str,
        body: api.KeyRotation,
        *,
        cancel: Cancel | None = None,
    ) -> api.NewKey:
        """Replace an API key.

        Creates a key with the same scopes, which does not expire. The old key stays valid
        for the overlap, unless it expires earlier, so that you can install the new one. Each
        request creates a key, even a repeated one; none extends the life of the old key.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/accounts/{segment('account', account)}/keys/{segment('key', key)}/rotate",
            body=body,
            once=True,
        )
        answer: api.NewKey = self._value(request, cancel)
        return answer

    def list_audit_entries(
        self,
        *,
        account: str | None = None,
        user: str | None = None,
        action: str | None = None,
        object: str | None = None,
        from_: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.AuditEntries, api.AuditEntry]:
        """List the changes that operators made.

        Changes with a key that has the scope admin, on the dashboard, or by a command,
        newest first. Without the scope admin you see changes by your account, and changes
        that operators made to your data. For submits, moves and cancels of accounts, see the
        history and the events of messages. Entries of operators are kept for 400 days.

        Requires the scope read.
        """
        request = Request(
            "GET",
            "/v1/audit",
            query={"account": account, "user": user, "action": action, "object": object, "from": from_, "until": until, "limit": limit, "cursor": cursor},
        )
        return self._pages(request, "entries", cancel)

    def count_campaign(
        self,
        campaign: str,
        *,
        account: str | None = None,
        more: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.CampaignStatus:
        """Count the messages of a campaign.

        Counts them by status, as long as their records are kept. An unknown campaign has
        none. GET /v1/messages?campaign= lists them. If counting takes long, the answer has
        the counts so far, and `more`: continue with GET and this value, until an answer has
        no `more`. Two are counted at a time; others are answered with 429.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/campaigns/{segment('campaign', campaign)}",
            query={"account": account, "more": more},
        )
        answer: api.CampaignStatus = self._value(request, cancel)
        return answer

    def cancel_campaign(
        self,
        campaign: str,
        *,
        account: str | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[api.CampaignProgress | api.CampaignSummary]:
        """Cancel the messages of a campaign.

        Ends the campaign: from 4 seconds after the request on, nothing is accepted for it,
        and the code is campaign_ended. Then all messages that are not sent yet are
        cancelled, and their contents erased; messages being sent are waited for. After a
        request that stopped early, the same request continues. A campaign without messages
        can't be cancelled. POST …/reopen lets it have messages again. The summary is
        `campaign_cancelled`. A `progress` line comes at once, and then at most every second;
        while the messages are counted first, `messages` grows. Each refused message is a
        line. The summary is the last line. If the request stops early, the summary covers
        the completed part, and the last line is a problem's outcome. The request ends with
        the connection. At most two such requests run at a time; others get 429.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/campaigns/{segment('campaign', campaign)}/cancel",
            query={"account": account},
        )
        return self._lines(request, cancel)

    def move_campaign(
        self,
        campaign: str,
        body: api.CampaignMoveDraft,
        *,
        account: str | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[api.CampaignProgress | api.CampaignSummary]:
        """Move the messages of a campaign by a duration.

        Moves all messages that are not sent yet. A message whose new time is refused keeps
        its place, and is a line. dry_run changes nothing: each message is judged as if only
        this one were moved. After a request that stopped early, the same request continues,
        and moves no message twice. After a complete one, it moves the campaign again. While
        another request moves the campaign, the answer is campaign_running. The summary is
        `campaign_moved` or `campaign_dry_run`. A `progress` line comes at once, and then at
        most every second; while the messages are counted first, `messages` grows. Each
        refused message is a line. The summary is the last line. If the request stops early,
        the summary covers the completed part, and the last line is a problem's outcome. The
        request ends with the connection. At most two such requests run at a time; others get
        429.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/campaigns/{segment('campaign', campaign)}/move",
            body=body,
            query={"account": account},
            once=True,
        )
        return self._lines(request, cancel)

    def pause_campaign(
        self,
        campaign: str,
        *,
        account: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.CampaignStatus:
        """Pause a campaign.

        Its messages keep their places, and are not delivered. Every worker follows within 4
        seconds; messages being sent are still sent. Messages that expire meanwhile are
        dropped. Pausing twice is no error. At most 200 campaigns of an account are paused at
        a time, and a campaign without messages can't be paused. Then the messages are
        counted. If counting takes long, the answer has the counts so far, and `more`:
        continue with GET and this value, until an answer has no `more`.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/campaigns/{segment('campaign', campaign)}/pause",
            query={"account": account},
        )
        answer: api.CampaignStatus = self._value(request, cancel)
        return answer

    def reopen_campaign(
        self,
        campaign: str,
        *,
        account: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.CampaignStatus:
        """Accept messages for a cancelled campaign again.

        Cancelled messages stay cancelled. Every program follows within 4 seconds. Reopening
        twice is no error. Then the messages are counted. If counting takes long, the answer
        has the counts so far, and `more`: continue with GET and this value, until an answer
        has no `more`.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/campaigns/{segment('campaign', campaign)}/reopen",
            query={"account": account},
        )
        answer: api.CampaignStatus = self._value(request, cancel)
        return answer

    def resume_campaign(
        self,
        campaign: str,
        *,
        account: str | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[api.CampaignProgress | api.CampaignSummary]:
        """Resume a paused campaign.

        Messages whose time has passed are late: each gets the next free time by the rules.
        It takes 4 seconds until every worker knows. After a request that stopped early, each
        message is judged within an hour. The summary is `campaign_resumed`. A `progress`
        line comes at once, and then at most every second; while the messages are counted
        first, `messages` grows. Each refused message is a line. The summary is the last
        line. If the request stops early, the summary covers the completed part, and the last
        line is a problem's outcome. The request ends with the connection. At most two such
        requests run at a time; others get 429.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/campaigns/{segment('campaign', campaign)}/resume",
            query={"account": account},
        )
        return self._lines(request, cancel)

    def list_channels(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Channels:
        """List the channels and their states.

        Lists channels that have delivered something or are stopped. A channel whose provider
        refuses the credentials is stopped for all workers. Its messages wait, and no attempt
        counts. Workers probe it once a minute, and resume it when a probe succeeds.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/channels",
        )
        answer: api.Channels = self._value(request, cancel)
        return answer

    def resume_channel(
        self,
        channel: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.ChannelResume:
        """Resume a stopped channel.

        All workers follow within 2 seconds. If its provider reported all devices as gone,
        correct project, key and environment first: from now on, devices that it reports as
        gone are removed.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/channels/{segment('channel', channel)}/resume",
        )
        answer: api.ChannelResume = self._value(request, cancel)
        return answer

    def purge_dead_alerts(
        self,
        *,
        older_than: str,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> api.DeadPurge:
        """Remove old alerts and reports that could not be delivered.

        Removes their content, oldest first. The alerts are not raised again. Send the
        request again while the answer has `more`.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            "/v1/dead-alerts",
            query={"older_than": older_than, "limit": limit},
        )
        answer: api.DeadPurge = self._value(request, cancel)
        return answer

    def list_dead_alerts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.DeadAlerts, api.DeadAlert]:
        """List alerts and reports that could not be delivered.

        Oldest first. Their contacts did not accept them within alert_retry_for.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/dead-alerts",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "dead_alerts", cancel)

    def purge_dead_alert(
        self,
        alert: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.AlertDone:
        """Remove an alert or report that could not be delivered.

        Removes its content. The alert is not raised again.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/dead-alerts/{segment('alert', alert)}",
        )
        answer: api.AlertDone = self._value(request, cancel)
        return answer

    def get_dead_alert(
        self,
        alert: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.DeadAlert:
        """Get an alert or report that could not be delivered.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/dead-alerts/{segment('alert', alert)}",
        )
        answer: api.DeadAlert = self._value(request, cancel)
        return answer

    def retry_dead_alert(
        self,
        alert: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.AlertDone:
        """Retry an alert or report that could not be delivered.

        It is tried again for alert_retry_for.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/dead-alerts/{segment('alert', alert)}/retry",
        )
        answer: api.AlertDone = self._value(request, cancel)
        return answer

    def purge_dead_events(
        self,
        *,
        account: str | None = None,
        id: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.DeadEventsPurge:
        """Remove dead events.

        Removes the one with the given id, otherwise all of the account.

        Requires the scope submit.
        """
        request = Request(
            "DELETE",
            "/v1/dead-events",
            query={"account": account, "id": id},
        )
        answer: api.DeadEventsPurge = self._value(request, cancel)
        return answer

    def list_dead_events(
        self,
        *,
        account: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.DeadEvents, api.DeadEvent]:
        """List the dead events of an account.

        Lists events that the callback did not accept in time, oldest first. A key with the
        scope admin sees the metadata of other accounts' messages only with the scope
        content. Each such access is logged.

        Requires the scope read.
        """
        request = Request(
            "GET",
            "/v1/dead-events",
            query={"account": account, "limit": limit, "cursor": cursor},
        )
        return self._pages(request, "dead_events", cancel)

    def retry_dead_events(
        self,
        *,
        account: str | None = None,
        id: str | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> api.DeadEventsRetry:
        """Post dead events again.

        Appends dead events to the account's events, with new ids: the one with the given id,
        otherwise the oldest ones. Clients that follow the account's events see them again
        too. `left` is the number of remaining dead events.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            "/v1/dead-events/retry",
            query={"account": account, "id": id, "limit": limit},
            once=True,
        )
        answer: api.DeadEventsRetry = self._value(request, cancel)
        return answer

    def purge_dead_letters(
        self,
        *,
        older_than: str,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> api.DeadPurge:
        """Remove old dead letters.

        Removes their content, their records and their ids, oldest first. Send the request
        again while the answer has `more`.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            "/v1/dead-letters",
            query={"older_than": older_than, "limit": limit},
        )
        answer: api.DeadPurge = self._value(request, cancel)
        return answer

    def list_dead_letters(
        self,
        *,
        user: str | None = None,
        reason: str | None = None,
        account: str | None = None,
        campaign: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.DeadLetters, api.Status]:
        """List dead letters.

        Without their content, oldest first. A page that a filter makes short has
        `next_cursor` while there may be more. A key with the scope admin sees the metadata
        of other accounts' messages only with the scope content. Each such access is logged.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/dead-letters",
            query={"user": user, "reason": reason, "account": account, "campaign": campaign, "cursor": cursor, "limit": limit},
        )
        return self._pages(request, "dead_letters", cancel)

    def retry_dead_letters(
        self,
        *,
        user: str | None = None,
        reason: str | None = None,
        account: str | None = None,
        campaign: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.DeadRetry, api.Outcome]:
        """Send dead letters again, oldest first.

        Each is scheduled as by retryDeadLetter. A refused one stays a dead letter, and its
        outcome has the reason. While the answer has `next_cursor`, send the request again
        with it: no message that fails again meanwhile is retried twice.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            "/v1/dead-letters/retry",
            query={"user": user, "reason": reason, "account": account, "campaign": campaign, "cursor": cursor, "limit": limit},
        )
        return self._pages(request, "outcomes", cancel)

    def list_event_limits(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.EventLimitsList, api.EventLimits]:
        """List the events that have limits.

        Sorted by name.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/event-limits",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "events", cancel)

    def remove_event_limits(
        self,
        event: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.EventLimitsRemoval:
        """Remove the limits and alerts of an event.

        The event may then happen any number of times, beside the limits of tiers.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/event-limits/{segment('event', event)}",
        )
        answer: api.EventLimitsRemoval = self._value(request, cancel)
        return answer

    def get_event_limits(
        self,
        event: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.EventLimits:
        """Get the limits of an event.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/event-limits/{segment('event', event)}",
        )
        answer: api.EventLimits = self._value(request, cancel)
        return answer

    def set_event_limits(
        self,
        event: str,
        body: api.EventLimitsDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.EventLimits:
        """Set or replace the limits and alerts of an event.

        Limits how often the event may happen for each key. This API counts the requests of
        each account as these events, beside the limits of its tier: `submit` counts requests
        that submit: a message, a dry run, or a batch; `read` counts requests that read
        (GET); `change` counts all other requests, such as moves and cancels. Another event
        requires `custom`. Takes effect with the next request; counts are kept. Each percent
        of `alert_at` alerts once for each key and period.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            f"/v1/event-limits/{segment('event', event)}",
            body=body,
        )
        answer: api.EventLimits = self._value(request, cancel)
        return answer

    def get_forecast(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Forecast:
        """Get how many messages are due when.

        Counted while clients request it, with at most 0.5 % of the store's time: with few
        messages it is a few seconds old, with millions some minutes.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/forecast",
        )
        answer: api.Forecast = self._value(request, cancel)
        return answer

    def find_messages(
        self,
        *,
        campaign: str | None = None,
        category: str | None = None,
        status: Literal["scheduled", "postponed", "moved", "sending", "delivered", "dropped", "failed", "uncertain", "cancelled"] | None = None,
        from_: str | datetime | None = None,
        until: str | datetime | None = None,
        user: str | None = None,
        user_prefix: str | None = None,
        account: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Messages, api.Status]:
        """List messages of all users.

        Lists messages that match all given parameters, in no particular order. A key without
        the scope admin finds only the messages of its account. Pages stay consistent while
        messages are submitted, moved, sent and cancelled: a message that exists from the
        first page to the last is listed once. A page reads about 20,000 messages, so it may
        be short, or empty although more follow: continue until there is no next_cursor. Give
        the same parameters with a cursor. Two pages are read at a time, one of an account;
        others wait for at most 5 seconds. With the setting index: false the answer is
        index_off. Messages that were accepted while it was false are not found. With
        campaign, the list works without the index. A key with the scope admin sees the
        metadata of other accounts' messages only with the scope content. Each such access is
        logged.

        Requires the scope read.
        """
        request = Request(
            "GET",
            "/v1/messages",
            query={"campaign": campaign, "category": category, "status": status, "from": from_, "until": until, "user": user, "user_prefix": user_prefix, "account": account, "limit": limit, "cursor": cursor},
        )
        return self._pages(request, "messages", cancel)

    def submit_message(
        self,
        body: api.Draft,
        *,
        idempotency_key: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Submit a message.

        Accepts a message if its send time is free under the user's rules. An accepted
        message is sent even if this server ends right after. With an id the request can be
        repeated, and the message is accepted once. Without an id the server generates one.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            "/v1/messages",
            body=body,
            keyed=True,
            idempotency_key=idempotency_key,
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def check_message(
        self,
        body: api.Draft,
        *,
        replace: bool | None = None,
        idempotency_key: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Dry run of a message.

        Answers like a submit, or with replace like putMessage, but stores nothing. The time
        is not reserved.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            "/v1/messages/dry-run",
            body=body,
            query={"replace": replace},
            keyed=True,
            idempotency_key=idempotency_key,
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def find_message(
        self,
        id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Found, api.Status]:
        """Find messages of all users by their id.

        Ids are unique for each user: if several users have the id, all their messages are
        listed, in no particular order. A key without the scope admin finds only the messages
        of its account. A key with the scope admin sees the content (title, body, data and
        push options) and metadata of other accounts' messages only with the scope content.
        Each such access is logged. Two pages are read at a time, one of an account; others
        wait for at most 5 seconds. With the setting index: false the answer is index_off.
        Messages that were accepted while it was false are not found.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/messages/{segment('id', id)}",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "messages", cancel)

    def get_overview(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Overview:
        """Get an overview of the system.

        Outcomes of the last hour, workers, and problems, as on the dashboard. It is at most
        a second old; lists of the whole store at most 15 seconds. See also listChannels and
        getForecast.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/overview",
        )
        answer: api.Overview = self._value(request, cancel)
        return answer

    def clear_pace(
        self,
        *,
        channel: Literal["log", "webhook", "fcm", "apns", "webpush", "service"] | None = None,
        cancel: Cancel | None = None,
    ) -> api.Pace:
        """Remove the pace, and end a pause.

        Ends a pause that the target requested, and forgets how fast it accepts calls. A
        worker with a pace in its settings sets it again when it starts.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            "/v1/pace",
            query={"channel": channel},
        )
        answer: api.Pace = self._value(request, cancel)
        return answer

    def get_pace(
        self,
        *,
        channel: Literal["log", "webhook", "fcm", "apns", "webpush", "service"] | None = None,
        cancel: Cancel | None = None,
    ) -> api.Pace:
        """Get the pace of all workers together.

        Includes a pause that the target requested.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/pace",
            query={"channel": channel},
        )
        answer: api.Pace = self._value(request, cancel)
        return answer

    def set_pace(
        self,
        body: api.PaceDraft,
        *,
        channel: Literal["log", "webhook", "fcm", "apns", "webpush", "service"] | None = None,
        cancel: Cancel | None = None,
    ) -> api.Pace:
        """Set or replace the pace.

        No interval of the rate, such as a second, has more deliveries than the rate allows.
        With a burst, at most so many deliveries start at once and the others follow one by
        one. Workers follow within 2 seconds, even for waiting messages. A message that the
        pace makes late is judged like every late message.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            "/v1/pace",
            body=body,
            query={"channel": channel},
        )
        answer: api.Pace = self._value(request, cancel)
        return answer

    def list_policies(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Policies, api.Policy]:
        """List the policies.

        Sorted by name.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/policies",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "policies", cancel)

    def delete_policy(
        self,
        policy: str,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.PolicyDeletion:
        """Delete a policy.

        Refused for the default policy, and with the code policy_in_use while settings of
        users name the policy: listUsers with policy= finds them. Its versions are kept for
        30 days, and rollbackPolicy restores it.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/policies/{segment('policy', policy)}",
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.PolicyDeletion = self._value(request, cancel)
        return answer

    def get_policy(
        self,
        policy: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.VersionedPolicy:
        """Get a policy.

        In the form that applyPolicy accepts. With If-None-Match and its ETag, the answer is
        304 until the policy changes.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/policies/{segment('policy', policy)}",
        )
        answer: api.VersionedPolicy = self._versioned(request, cancel)
        return answer

    def apply_policy(
        self,
        policy: str,
        body: api.PolicyDocument,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.VersionedPolicyChange:
        """Create or replace a policy.

        Takes effect within two seconds in every program. An invalid policy is not stored. An
        absent field gets its default, not its old value. Scheduled messages keep their
        places and are sent as promised: dryRunPolicy lists those that would not fit, and
        refitPolicy moves or cancels them. Applying the same policy again changes nothing,
        whatever version If-Match names.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            f"/v1/policies/{segment('policy', policy)}",
            body=body,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.VersionedPolicyChange = self._versioned(request, cancel)
        return answer

    def dry_run_policy(
        self,
        policy: str,
        body: api.PolicyDocument,
        *,
        cancel: Cancel | None = None,
    ) -> Iterator[api.RefitProgress | api.Misfit | api.RefitSummary]:
        """Dry run of a policy.

        Changes nothing. Each message that would not fit is a line. Messages are checked by
        time: a message fits if it breaks no rule together with the earlier ones that fit. A
        `progress` line comes first and then every second. The summary is the last line:
        `dry_run` or `refitted`. If the request stops early, the summary covers the checked
        part, and the last line is a problem's outcome. The request ends with the connection.
        It uses at most half of the store's time. Only one runs at a time; others get 429.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/policies/{segment('policy', policy)}/dry-run",
            body=body,
        )
        return self._lines(request, cancel)

    def refit_policy(
        self,
        policy: str,
        *,
        then: Literal["shift", "cancel"],
        cancel: Cancel | None = None,
    ) -> Iterator[api.RefitProgress | api.Misfit | api.RefitSummary]:
        """Move or cancel scheduled messages that do not fit a policy.

        Uses the stored policy. It can be stopped at any time: the same request for the same
        version continues where it stopped. It starts two seconds after the first line, when
        every program follows the policy. Each message that does not fit is a line. A
        `progress` line comes first and then every second. The summary is the last line:
        `dry_run` or `refitted`. If the request stops early, the summary covers the checked
        part, and the last line is a problem's outcome. The request ends with the connection.
        It uses at most half of the store's time. Only one runs at a time; others get 429.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/policies/{segment('policy', policy)}/refit",
            query={"then": then},
        )
        return self._lines(request, cancel)

    def rollback_policy(
        self,
        policy: str,
        body: api.PolicyRollback,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.VersionedPolicyChange:
        """Store an earlier version of a policy again.

        Stores it under a new version, as applyPolicy does. A deleted policy is restored. If
        the policy already equals that version, nothing changes.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/policies/{segment('policy', policy)}/rollback",
            body=body,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.VersionedPolicyChange = self._versioned(request, cancel)
        return answer

    def list_policy_versions(
        self,
        policy: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.PolicyVersions:
        """List the versions of a policy.

        With who stored each, and when. At most 100 are kept; versions of a deleted policy
        for 30 days.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/policies/{segment('policy', policy)}/versions",
        )
        answer: api.PolicyVersions = self._value(request, cancel)
        return answer

    def get_sending(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Sending:
        """Get whether all sending is stopped.

        With who stopped it, since when and why.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/sending",
        )
        answer: api.Sending = self._value(request, cancel)
        return answer

    def start_sending(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.SendingChange:
        """Start all sending again.

        Workers follow within 2 seconds. Messages that have become late are judged like all
        late messages: the rules hold, and their order is kept.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            "/v1/sending/start",
        )
        answer: api.SendingChange = self._value(request, cancel)
        return answer

    def stop_sending(
        self,
        body: api.SendingStopDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.SendingChange:
        """Stop all sending.

        No worker begins another delivery 2 seconds after the answer, until startSending.
        Calls to providers that have begun end as always. Messages are still accepted,
        refused and judged as always. Due ones wait without an attempt, and end at their
        expiry. Alerts, reports and events are sent on.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            "/v1/sending/stop",
            body=body,
        )
        answer: api.SendingChange = self._value(request, cancel)
        return answer

    def list_sessions(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Sessions:
        """List the sessions of the dashboard.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/sessions",
        )
        answer: api.Sessions = self._value(request, cancel)
        return answer

    def end_session(
        self,
        session: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.SessionEnd:
        """End a session of the dashboard.

        Every process follows within a second.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/sessions/{segment('session', session)}",
        )
        answer: api.SessionEnd = self._value(request, cancel)
        return answer

    def get_stats(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.Stats:
        """Get the state of the queue and the store.

        A part of /metrics, as JSON.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/stats",
        )
        answer: api.Stats = self._value(request, cancel)
        return answer

    def list_tiers(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Tiers, api.Tier]:
        """List the tiers.

        Sorted by name.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/tiers",
            query={"limit": limit, "cursor": cursor},
        )
        return self._pages(request, "tiers", cancel)

    def remove_tier(
        self,
        tier: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.TierRemoval:
        """Remove a tier.

        Refused while an account has the tier: detail names one. Give it another tier, or
        none, with changeAccount. A tier in the settings of a worker is created again when
        the worker starts.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/tiers/{segment('tier', tier)}",
        )
        answer: api.TierRemoval = self._value(request, cancel)
        return answer

    def get_tier(
        self,
        tier: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Tier:
        """Get a tier.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/tiers/{segment('tier', tier)}",
        )
        answer: api.Tier = self._value(request, cancel)
        return answer

    def set_tier(
        self,
        tier: str,
        body: api.TierLimits,
        *,
        cancel: Cancel | None = None,
    ) -> api.Tier:
        """Create or replace a tier.

        Takes effect for all its accounts within a second in every process. Messages already
        charged stay charged. If they are over a threshold of a lower quota, the accounts'
        contacts are alerted; the thresholds of a higher quota alert again.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            f"/v1/tiers/{segment('tier', tier)}",
            body=body,
        )
        answer: api.Tier = self._value(request, cancel)
        return answer

    def get_own_usage(
        self,
        *,
        cancel: Cancel | None = None,
    ) -> api.AccountUsage:
        """Get the usage of the key's account.

        How many messages of the present hour and day are charged: those that were sent and
        those still scheduled, by their send times. Messages of later hours and days count
        there. If the tier limits requests per day, also the number of requests. Without a
        key there is no account, and the answer is 404.

        Requires the scope read.
        """
        request = Request(
            "GET",
            "/v1/usage",
        )
        answer: api.AccountUsage = self._value(request, cancel)
        return answer

    def list_users(
        self,
        *,
        blocked: bool | None = None,
        policy: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Users, api.ListedUser]:
        """List users with settings.

        In the order of the store: not by name, but the same each time. Users without
        settings are not listed.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            "/v1/users",
            query={"blocked": blocked, "policy": policy, "limit": limit, "cursor": cursor},
        )
        return self._pages(request, "users", cancel)

    def erase_user(
        self,
        user: str,
        *,
        wait: str | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[api.UserProgress | api.UserErasure]:
        """Erase all data of a user, and cancel the user's messages.

        This can't be undone. Erasing again is safe. Stop submitting for the user first: a
        message accepted meanwhile may stay. It continues if the connection ends. Backups
        keep their data. The summary `erased` is the last line. It looks at every key of the
        user's server, so only one export or erasure runs at a time and others are answered
        with 429. A `progress` line comes from time to time. If it stops early, the last line
        is a problem's outcome.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/users/{segment('user', user)}",
            query={"wait": wait},
        )
        return self._lines(request, cancel)

    def purge_dead_letter(
        self,
        user: str,
        id: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Remove a dead letter.

        Removes its content, its record and its id.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/users/{segment('user', user)}/dead-letters/{segment('id', id)}",
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def get_dead_letter(
        self,
        user: str,
        id: str,
        *,
        content: bool | None = None,
        cancel: Cancel | None = None,
    ) -> api.Status:
        """Get a dead letter.

        A key with the scope admin sees the content (title, body, data and push options) and
        metadata of other accounts' messages only with the scope content. Each such access is
        logged.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/dead-letters/{segment('id', id)}",
            query={"content": content},
        )
        answer: api.Status = self._value(request, cancel)
        return answer

    def retry_dead_letter(
        self,
        user: str,
        id: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Send a dead letter again.

        Schedules it at its user's next free time, with all its attempts. If that is not
        possible, it stays a dead letter.

        Requires the scope admin.
        """
        request = Request(
            "POST",
            f"/v1/users/{segment('user', user)}/dead-letters/{segment('id', id)}/retry",
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def list_devices(
        self,
        user: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Devices:
        """List a user's devices.

        Lists the devices that get the user's messages. A key without the scope admin reaches
        only the devices that its account registered. Addresses are masked unless the key has
        the scope content. Each such access is logged.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/devices",
        )
        answer: api.Devices = self._value(request, cancel)
        return answer

    def add_device(
        self,
        user: str,
        body: api.DeviceDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.DeviceChange:
        """Register a device of a user.

        Call it whenever the app starts or gets another token: registering again is safe. The
        device belongs to the account of the key, and replaces a device of the account with
        the same id or the same address. An account registers at most 100 devices of a user,
        and at most as many of all users as its tier allows; a registered device can always
        be registered again. A phone has one user at a time: other users of the account lose
        the address, and so do devices without an account. A caller without an account takes
        it from all accounts. With the server's setting shared_devices nobody loses it.

        Requires the scope submit.
        """
        request = Request(
            "POST",
            f"/v1/users/{segment('user', user)}/devices",
            body=body,
        )
        answer: api.DeviceChange = self._value(request, cancel)
        return answer

    def remove_device(
        self,
        user: str,
        device: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.DeviceRemoval:
        """Remove a device of a user.

        It gets no more messages; one that is being sent may still arrive. A key without the
        scope admin reaches only the devices that its account registered.

        Requires the scope submit.
        """
        request = Request(
            "DELETE",
            f"/v1/users/{segment('user', user)}/devices/{segment('device', device)}",
        )
        answer: api.DeviceRemoval = self._value(request, cancel)
        return answer

    def export_user(
        self,
        user: str,
        *,
        cancel: Cancel | None = None,
    ) -> Iterator[api.UserProgress | api.UserEntry | api.UserExport]:
        """Export all data of a user.

        Each entry is a line: of the timeline, the messages (including ended ones), the
        settings, alerts, dead letters, the watch list, the queue, and traces of dry runs.
        The summary `exported` is the last line. The request ends with the connection. It
        looks at every key of the user's server, so only one export or erasure runs at a time
        and others are answered with 429. A `progress` line comes from time to time. If it
        stops early, the last line is a problem's outcome.

        A key with the scope admin sees the content (title, body, data and push options) and
        metadata of other accounts' messages only with the scope content. Each such access is
        logged. Each export is logged too.

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/export",
        )
        return self._lines(request, cancel)

    def list_messages(
        self,
        user: str,
        *,
        from_: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        titles: bool | None = None,
        cancel: Cancel | None = None,
    ) -> Pages[api.Messages, api.Status]:
        """List a user's messages.

        Sorted by send time, with their statuses. The list has scheduled and late messages,
        and sent messages as long as a rule can still count them. Cancelled, dropped and
        failed messages are listed at their planned send time as long as their records are
        kept. A key without the scope admin lists only the messages of its account. A key
        with the scope admin sees the metadata of other accounts' messages only with the
        scope content. Each such access is logged.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/messages",
            query={"from": from_, "until": until, "limit": limit, "cursor": cursor, "titles": titles},
        )
        return self._pages(request, "messages", cancel)

    def cancel_message(
        self,
        user: str,
        id: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Cancel a message.

        Possible until the message is being sent. Erases its content. If an earlier delivery
        may have arrived, its place still counts. Cancelling twice is no error, and sets
        replayed.

        Requires the scope submit.
        """
        request = Request(
            "DELETE",
            f"/v1/users/{segment('user', user)}/messages/{segment('id', id)}",
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def get_message(
        self,
        user: str,
        id: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Status:
        """Get a message and its status.

        The status is kept for a time after the message ended, by default 7 days. The
        content, from title to to, is shown until the message ends; a dead letter keeps it,
        and metadata stays. A key with the scope admin sees the content (title, body, data
        and push options) and metadata of other accounts' messages only with the scope
        content. Each such access is logged.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/messages/{segment('id', id)}",
        )
        answer: api.Status = self._value(request, cancel)
        return answer

    def move_message(
        self,
        user: str,
        id: str,
        body: api.MoveDraft,
        *,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Move a message, or change its content.

        Possible until the message is being sent. A move is not possible after a delivery
        that may have arrived. The body is a JSON merge patch (RFC 7396): absent members stay
        unchanged, and null removes a member, also single entries of data and metadata. With
        send_at the message moves. If the new time is not free, the message does not change;
        with on_conflict shift it gets the next free time after the new one. Without send_at
        it keeps its place, which costs no quota and is not judged. Submitting the original
        message again is still answered as a repetition. A key with the scope admin changes
        content and metadata of other accounts' messages only with the scope content.

        Requires the scope submit.
        """
        request = Request(
            "PATCH",
            f"/v1/users/{segment('user', user)}/messages/{segment('id', id)}",
            body=body,
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def put_message(
        self,
        user: str,
        id: str,
        body: api.PutDraft,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.Outcome:
        """Create or replace a message.

        Creates a message, or replaces the pending one with this id: content, category,
        campaign, time and expiry. The body is that of submitMessage; its user and id, if
        given, are those of the path. The new message is judged without the place of the
        former one. If it is refused, nothing changes. A message that is being sent, has
        reached a device, may have arrived or was delivered is not replaced (too_late). An id
        that submitMessage may use again is created. The same request again is answered with
        replayed, and counts nothing, unless moveMessage has changed the message since. With
        a send time or a former one within the worker's horizon it counts as a move
        (moves_per_minute).

        Requires the scope submit.
        """
        request = Request(
            "PUT",
            f"/v1/users/{segment('user', user)}/messages/{segment('id', id)}",
            body=body,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.Outcome = self._value(request, cancel)
        return answer

    def show_content(
        self,
        user: str,
        id: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.Status:
        """Show the content of a message.

        Answers as getMessage does. If a key with the scope admin asks, the look is an entry
        of the audit log, so that it is known who saw the content.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/messages/{segment('id', id)}/content",
        )
        answer: api.Status = self._value(request, cancel)
        return answer

    def get_next_free(
        self,
        user: str,
        *,
        from_: str | datetime | None = None,
        count: int | None = None,
        category: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.FreeTimes:
        """Get the next free times of a user.

        Each time counts the ones before it as taken, so messages at all of them would be
        accepted.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/next-free",
            query={"from": from_, "count": count, "category": category},
        )
        answer: api.FreeTimes = self._value(request, cancel)
        return answer

    def clear_user_settings(
        self,
        user: str,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.VersionedUserSettings:
        """Remove a user's settings.

        The user's messages do not change. scheduled counts those that do not fit the policy.

        Requires the scope admin.
        """
        request = Request(
            "DELETE",
            f"/v1/users/{segment('user', user)}/settings",
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.VersionedUserSettings = self._versioned(request, cancel)
        return answer

    def get_user_settings(
        self,
        user: str,
        *,
        cancel: Cancel | None = None,
    ) -> api.VersionedUserSettings:
        """Get a user's settings and rules.

        A user without settings has the rules of the default policy and the ETag "0".

        Requires the scope admin.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/settings",
        )
        answer: api.VersionedUserSettings = self._versioned(request, cancel)
        return answer

    def change_user_settings(
        self,
        user: str,
        body: api.SettingsPatch,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.VersionedUserSettings:
        """Change a user's settings.

        An absent field does not change; a null or empty field is removed. Takes effect
        immediately. scheduled in the answer counts the scheduled messages that do not fit
        the new settings, and says what became of them: see then. Until it is complete, the
        same request continues.

        Requires the scope admin.
        """
        request = Request(
            "PATCH",
            f"/v1/users/{segment('user', user)}/settings",
            body=body,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.VersionedUserSettings = self._versioned(request, cancel)
        return answer

    def set_user_settings(
        self,
        user: str,
        body: api.SettingsDraft,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.VersionedUserSettings:
        """Replace a user's settings.

        Replaces all settings. Takes effect immediately. scheduled in the answer counts the
        scheduled messages that do not fit the new settings, and says what became of them:
        see then. Until it is complete, the same request continues.

        Requires the scope admin.
        """
        request = Request(
            "PUT",
            f"/v1/users/{segment('user', user)}/settings",
            body=body,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        answer: api.VersionedUserSettings = self._versioned(request, cancel)
        return answer

    def get_usage(
        self,
        user: str,
        *,
        at: str | datetime | None = None,
        from_: str | datetime | None = None,
        until: str | datetime | None = None,
        category: str | None = None,
        cancel: Cancel | None = None,
    ) -> api.Usage:
        """Get how full a user's rules are, and the free times.

        For a sliding rule this is the fullest window around the time, for a calendar rule
        the period that contains it. Sent and scheduled messages both count. Quiet hours are
        not free. Messages of other accounts have no ids. If there are more than 10,000
        sends, only the first are listed and more is true.

        Requires the scope read.
        """
        request = Request(
            "GET",
            f"/v1/users/{segment('user', user)}/usage",
            query={"at": at, "from": from_, "until": until, "category": category},
        )
        answer: api.Usage = self._value(request, cancel)
        return answer
