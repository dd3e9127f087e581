# Written by "make clients" from the OpenAPI document. Do not edit it.
"""The requests and answers of the API: dicts, as they are in JSON.

Answers may get more members, and texts such as a code or a status more values.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict


class Account(TypedDict):
    contact: NotRequired[str]
    """Where quota alerts go: an e-mail address or an https: URL."""
    created_at: str
    """When it was created."""
    disabled: NotRequired[bool]
    """Whether its keys are refused. What it has submitted is still sent."""
    events_url: NotRequired[str]
    """Where its events are posted; absent if they are not posted."""
    former_time_zone: NotRequired[str]
    """The time zone before the last change, which counts until time_zone_from."""
    keys: list[Key]
    """Its API keys without the secrets, the oldest first."""
    name: str
    """1 to 64 of a-z 0-9 _ -"""
    report_at: NotRequired[str]
    """The local time of its daily report; absent if it gets none."""
    tier: NotRequired[str]
    """Its tier; absent if nothing is limited."""
    time_zone: str
    """The IANA time zone of the hours and days of its quota."""
    time_zone_from: NotRequired[str]
    """From when the time zone counts: the end of the day that was under way when it was
    changed.
    """


class AccountDetails(TypedDict):
    callback: NotRequired[Callback]
    """Where its events are posted, and how far; absent if they are not posted."""
    contact: NotRequired[str]
    """Where quota alerts go: an e-mail address or an https: URL."""
    created_at: str
    """When it was created."""
    disabled: NotRequired[bool]
    """Whether its keys are refused. What it has submitted is still sent."""
    events_url: NotRequired[str]
    """Where its events are posted; absent if they are not posted."""
    former_time_zone: NotRequired[str]
    """The time zone before the last change, which counts until time_zone_from."""
    keys: list[Key]
    """Its API keys without the secrets, the oldest first."""
    name: str
    """1 to 64 of a-z 0-9 _ -"""
    report_at: NotRequired[str]
    """The local time of its daily report; absent if it gets none."""
    tier: NotRequired[str]
    """Its tier; absent if nothing is limited."""
    time_zone: str
    """The IANA time zone of the hours and days of its quota."""
    time_zone_from: NotRequired[str]
    """From when the time zone counts: the end of the day that was under way when it was
    changed.
    """
    usage: AccountUsage
    """How much of its quota it has used."""


class AccountDraft(TypedDict):
    contact: NotRequired[str | None]
    """Where quota alerts go: an e-mail address or an https: URL."""
    name: str
    """1 to 64 of a-z 0-9 _ -"""
    report_at: NotRequired[str | None]
    """Local time of a daily report, such as 08:00; by default there is none."""
    tier: NotRequired[str | None]
    """The name of an existing tier; by default nothing is limited."""
    time_zone: NotRequired[str | None]
    """An IANA time zone, by default UTC."""


class AccountPatch(TypedDict):
    contact: NotRequired[str | None]
    """An e-mail address or an https: URL."""
    disabled: NotRequired[bool | None]
    """Whether its keys are refused."""
    report_at: NotRequired[str | None]
    """Local time of a daily report, such as 08:00."""
    tier: NotRequired[str | None]
    """The name of an existing tier."""
    time_zone: NotRequired[str | None]
    """An IANA time zone. It counts from the end of the present day in the former one."""


class AccountUsage(TypedDict):
    account: str
    """The account's name."""
    day: QuotaUsage
    """The present day, in the account's time zone."""
    days: list[QuotaUsage]
    """The present day and the six after it: messages count in the day of their send times."""
    devices: DevicesUsage
    """The devices that it has registered."""
    hour: QuotaUsage
    """The present hour."""
    now: str
    """When it was counted, by the store's clock."""
    requests: NotRequired[RequestsUsage]
    """The requests of the present day; absent if the tier has no limit for them."""
    tier: NotRequired[str]
    """Its tier; absent if nothing is limited."""


class Accounts(TypedDict):
    accounts: list[Account]
    """By name."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class Activity(TypedDict):
    accepted: int
    """Submits that were accepted."""
    cancelled: int
    """Messages that were cancelled."""
    delivered: int
    """Messages that were delivered, late ones included."""
    dropped: dict[str, int]
    """Messages that ended unsent, by reason."""
    failed: dict[str, int]
    """Messages that were given up, by reason."""
    late: int
    """Messages that were delivered after the tolerance."""
    late_half_ms: NotRequired[int]
    """The p50 of the lateness of delivered messages, in milliseconds; absent if there are none."""
    late_most_ms: NotRequired[int]
    """The p99 of the lateness."""
    postponed: int
    """Late messages that got a later time."""
    refused: dict[str, int]
    """Submits that were refused, by rule, or by code if no rule refused them."""
    retried: int
    """Dead letters that were retried."""


class ActivityMinute(TypedDict):
    accepted: int
    """Submits that were accepted."""
    cancelled: int
    """Messages that were cancelled."""
    delivered: int
    """Messages that were delivered, late ones included."""
    dropped: dict[str, int]
    """Messages that ended unsent, by reason."""
    failed: dict[str, int]
    """Messages that were given up, by reason."""
    late: int
    """Messages that were delivered after the tolerance."""
    late_half_ms: NotRequired[int]
    """The p50 of the lateness of delivered messages, in milliseconds; absent if there are none."""
    late_most_ms: NotRequired[int]
    """The p99 of the lateness."""
    postponed: int
    """Late messages that got a later time."""
    refused: dict[str, int]
    """Submits that were refused, by rule, or by code if no rule refused them."""
    retried: int
    """Dead letters that were retried."""
    start: str
    """When the minute began."""


class AlertDone(TypedDict):
    alert: str
    """The alert's id."""
    outcome: str
    """What was done.

    retried, purged.
    """


class AuditEntries(TypedDict):
    entries: list[AuditEntry]
    """The newest first."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. A page with filters may be
    short or empty, and the next may be, too.
    """


class AuditEntry(TypedDict):
    account: NotRequired[str]
    """The account that made the change; absent without an API key."""
    action: str
    """The operation in words, such as apply policy."""
    address: NotRequired[str]
    """The address that the request came from; absent for a command on the store."""
    answer: NotRequired[str]
    """Why it was refused or failed, as a sentence."""
    at: str
    """When the change began, by the store's clock."""
    by: NotRequired[str]
    """The name of who sent no key, from a command or the header Sendlimit-By; absent with a
    key.
    """
    code: NotRequired[str]
    """Why it was refused or failed, as a code."""
    detail: NotRequired[str]
    """The change in words, without secrets and contents."""
    ended_at: NotRequired[str]
    """When it ended; absent while the change is running, and if its end is unknown."""
    erased: NotRequired[bool]
    """The user's data was removed from the entry, because the user was erased."""
    id: str
    """Its id. Ids ascend with time."""
    key: NotRequired[str]
    """The id of the account's key; absent without one."""
    message: NotRequired[str]
    """The message that changed; absent if user is absent."""
    more: NotRequired[int]
    """The number of further refusals in the same minute, which have no entries."""
    object: NotRequired[str]
    """The name of another object that changed, such as a policy."""
    operator: NotRequired[bool]
    """An operator made the change, not your account."""
    outcome: NotRequired[str]
    """done, refused or failed; a failed change may have changed something. Absent while the
    change is running.

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """
    user: NotRequired[str]
    """The user whose data changed; absent if there is none, and after the user was erased."""


class Callback(TypedDict):
    account: str
    """The account's name."""
    attempts: NotRequired[int]
    """Requests that failed since the last success."""
    dead: int
    """Dead events, which the callback did not accept in time."""
    failing_since: NotRequired[str]
    """Since when requests fail; absent if the last one succeeded."""
    last_failure: NotRequired[str]
    """Why it failed, such as unavailable, timeout, rejected, gone, or misaddressed for an
    internal address.
    """
    last_failure_at: NotRequired[str]
    """When a request last failed; absent if never."""
    last_success_at: NotRequired[str]
    """When a request last succeeded; absent if never."""
    lost: NotRequired[int]
    """Events that were removed before they were posted, because too many waited or they were
    too old.
    """
    next_try_at: NotRequired[str]
    """When the next request is made; absent unless requests fail."""
    secret: NotRequired[str]
    """The signing secret. Only the answer to the request that created it shows it."""
    url: str
    """Where its events are posted."""
    waiting: int
    """Events that were not posted yet."""


class CallbackDraft(TypedDict):
    secret: NotRequired[str | None]
    """The signing secret: whsec_ and 24 to 64 bytes in base64. By default the current secret
    stays, and the first one is generated.
    """
    url: str
    """An https URL with a host, without user, password and fragment."""


class CampaignMoveDraft(TypedDict):
    by: str
    """By how long: 1h, 90m or -30m. A negative length moves to earlier times. At most 8784h, of
    whole milliseconds.
    """
    dry_run: NotRequired[bool | None]
    """A dry run: only report what the outcome would be."""


class CampaignProgress(TypedDict):
    messages: int
    """Messages of the campaign; until the first one is processed, the number counted so far."""
    messages_done: int
    """Messages that were processed, including those of an earlier request."""
    outcome: Literal["progress"]
    """What was done. With refused, invalid and error nothing was done."""


class CampaignStatus(TypedDict):
    account: NotRequired[str]
    """The campaign's account; absent without accounts."""
    campaign: str
    """The campaign's name."""
    ended_at: NotRequired[str]
    """When it was cancelled: it accepts no messages. Absent if it was not, and after a reopen."""
    messages: int
    """The number of messages; with more set, the number counted so far."""
    more: NotRequired[str]
    """Set if the count is not complete. Send it as the parameter more to continue: the next
    answer includes these messages.
    """
    paused_since: NotRequired[str]
    """Since when it is paused; absent if it is not."""
    statuses: dict[str, int]
    """The number of messages by status. A status without messages is absent."""


class CampaignSummary(TypedDict):
    account: NotRequired[str]
    """The campaign's account; absent without accounts."""
    by: NotRequired[str]
    """By how long the messages were moved."""
    campaign: str
    """The campaign's name."""
    complete: bool
    """False if the run stopped early: send the same request again to continue."""
    continued: NotRequired[bool]
    """The run continued an earlier request, and includes its figures."""
    done: int
    """Messages that were cancelled, moved or resumed; in a dry run, those that could be moved."""
    gone: int
    """Messages that somebody else sent, moved or cancelled meanwhile."""
    messages: int
    """Messages that were processed."""
    outcome: Literal["campaign_cancelled", "campaign_moved", "campaign_dry_run", "campaign_resumed"]
    """What was done. With refused, invalid and error nothing was done."""
    refused: int
    """Messages that were refused, and keep their places."""
    refused_by: NotRequired[dict[str, int]]
    """Refused messages by the rule that they would break, or by the code of the refusal."""


class Category(TypedDict):
    accounts: NotRequired[list[str]]
    """The accounts that may submit messages of the category; empty for all. Messages of other
    accounts are refused with category_reserved.
    """
    blackouts: NotRequired[list[str]]
    """Dates on which none of its messages are sent, in place of the policy's blackouts."""
    counts: NotRequired[bool]
    """Whether its messages count in the policy's rules. Only an exempt category may have false."""
    exempt: NotRequired[bool]
    """Whether rules and quiet hours do not apply to its messages."""
    only: NotRequired[list[str]]
    """The only hours at which its messages are sent, in place of the policy's only."""
    quiet_hours: NotRequired[list[str]]
    """When none of its messages are sent, in place of the policy's quiet_hours."""
    rules: NotRequired[list[str]]
    """Rules that count only messages of the category, at most one for each window, in addition
    to those of the policy.
    """
    shift_spread: NotRequired[str]
    """In place of the policy's shift_spread; 0s for none. An exempt category has none."""
    throttle: NotRequired[str]
    """How many messages of the category all users of the policy together get in a minute or an
    hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has
    none.
    """


class CategoryDocument(TypedDict):
    accounts: NotRequired[list[str] | None]
    """The accounts that may submit messages of the category; empty for all. Messages of other
    accounts are refused with category_reserved.
    """
    blackouts: NotRequired[list[str] | None]
    """Dates on which none of its messages are sent, in place of the policy's blackouts."""
    counts: NotRequired[bool | None]
    """Whether its messages count in the policy's rules. Only an exempt category may have false."""
    exempt: NotRequired[bool | None]
    """Whether rules and quiet hours do not apply to its messages."""
    only: NotRequired[list[str] | None]
    """The only hours at which its messages are sent, in place of the policy's only."""
    quiet_hours: NotRequired[list[str] | None]
    """When none of its messages are sent, in place of the policy's quiet_hours."""
    rules: NotRequired[list[str] | None]
    """Rules that count only messages of the category, at most one for each window, in addition
    to those of the policy.
    """
    shift_spread: NotRequired[str | None]
    """In place of the policy's shift_spread; 0s for none. An exempt category has none."""
    throttle: NotRequired[str | None]
    """How many messages of the category all users of the policy together get in a minute or an
    hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has
    none.
    """


class CategoryQuiet(TypedDict):
    category: str
    """The category's name."""
    quiet_hours: list[str]
    """When none of its messages are sent."""


_Change = TypedDict("_Change", {
    "from": "NotRequired[str]",
})


class Change(_Change):
    blackouts: NotRequired[list[str]]
    """The blackout dates then; absent for those of the policy."""
    categories: NotRequired[dict[str, Category]]
    """All categories then; absent for those of the policy."""
    only: NotRequired[list[str]]
    """The only hours then; absent for those of the policy."""
    quiet_hours: NotRequired[list[str]]
    """The quiet hours then; absent for those of the policy."""
    rules: NotRequired[list[str]]
    """The rules then; absent for those of the policy."""
    until: NotRequired[str]
    """The end of the send times, which is not included; absent for no end."""


_ChangeDocument = TypedDict("_ChangeDocument", {
    "from": "NotRequired[str | None]",
})


class ChangeDocument(_ChangeDocument):
    blackouts: NotRequired[list[str] | None]
    """The blackout dates then; absent for those of the policy."""
    categories: NotRequired[dict[str, CategoryDocument] | None]
    """All categories then; absent for those of the policy."""
    only: NotRequired[list[str] | None]
    """The only hours then; absent for those of the policy."""
    quiet_hours: NotRequired[list[str] | None]
    """The quiet hours then; absent for those of the policy."""
    rules: NotRequired[list[str] | None]
    """The rules then; absent for those of the policy."""
    until: NotRequired[str | None]
    """The end of the send times, which is not included; absent for no end."""


class Channel(TypedDict):
    channel: str
    """Its name, such as fcm.

    fcm, apns, webpush, webhook, log, service.
    """
    delivered_at: NotRequired[str]
    """When it last delivered, to a few seconds; absent if never."""
    detail: NotRequired[str]
    """The provider's answer."""
    learned: NotRequired[LearnedPace]
    """How fast its provider accepts calls, as its refusals show; absent if it has refused none
    for an hour.
    """
    paused_until: NotRequired[str]
    """The end of the pause that its provider has asked for."""
    probe_at: NotRequired[str]
    """When workers probe it again; absent if they do not."""
    reason: NotRequired[str]
    """Why it is stopped: unauthorized, its provider refuses the credentials; misaddressed, its
    provider does not know the project or the path; brake, its provider calls all devices
    gone.
    """
    since: NotRequired[str]
    """Since when it is stopped."""
    state: str
    """running; paused, if its provider has asked for a pause; or stopped."""
    wave: NotRequired[ChannelWave]
    """Set if the provider recently called many devices gone."""


class ChannelResume(TypedDict):
    channel: str
    """Its name.

    fcm, apns, webpush, webhook, log, service.
    """
    outcome: str
    """resumed, or running if it was not stopped

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """


class ChannelWave(TypedDict):
    accounts: dict[str, int]
    """The number of these messages by account; the empty name has those without an account."""
    campaigns: dict[str, int]
    """The number of these messages by campaign; the empty name has those without a campaign."""
    gone: int
    """How many of the last answers called a device gone. Those devices are kept."""
    of: int
    """The number of these last answers."""


class Channels(TypedDict):
    channels: list[Channel]
    """By name."""


class Code(StrEnum):
    """What is wrong. More may be added."""

    ACCOUNT_PLACES = "account_places"
    ALREADY_EXISTS = "already_exists"
    BLOCKED = "blocked"
    CAMPAIGN_ENDED = "campaign_ended"
    CAMPAIGN_RUNNING = "campaign_running"
    CATEGORY_RESERVED = "category_reserved"
    CROSS_ORIGIN = "cross_origin"
    DO_NOT_DISTURB = "do_not_disturb"
    EXPIRED = "expired"
    FORBIDDEN = "forbidden"
    ID_REUSED = "id_reused"
    IN_PAST = "in_past"
    INDEX_OFF = "index_off"
    INTERNAL = "internal"
    INVALID_FIELD = "invalid_field"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_FOUND = "not_found"
    NOT_IMPLEMENTED = "not_implemented"
    OPTED_OUT = "opted_out"
    POLICY_IN_USE = "policy_in_use"
    QUIET_HOURS = "quiet_hours"
    QUOTA_EXCEEDED = "quota_exceeded"
    RATE_LIMITED = "rate_limited"
    REFIT_RUNNING = "refit_running"
    SEND_LIMIT = "send_limit"
    STORE_FULL = "store_full"
    STORE_UNFIT = "store_unfit"
    THROTTLED = "throttled"
    TOO_FAR_AHEAD = "too_far_ahead"
    TOO_LATE = "too_late"
    TOO_MANY_DEVICES = "too_many_devices"
    TOO_MANY_PLACES = "too_many_places"
    UNAUTHORIZED = "unauthorized"
    UNAVAILABLE = "unavailable"
    UNKNOWN_CATEGORY = "unknown_category"
    VERSION_MISMATCH = "version_mismatch"


class Conflict(TypedDict):
    id: NotRequired[str]
    """The message's id; absent if it belongs to another account."""
    send_at: str
    """The send time."""


class DeadAlert(TypedDict):
    alert: str
    """Its id."""
    attempts: int
    """The number of delivery attempts."""
    ended_at: str
    """When it was given up."""
    kind: str
    """account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed
    or keys_changed.

    account_quota, user_quota, user_quota_digest, daily_report, event_limit,
    callback_changed, keys_changed.
    """
    limit: NotRequired[int]
    """Messages that the day's quota or rule allows, or calls that the event's limit allows;
    absent for digests and reports.
    """
    reason: str
    """Why the last delivery failed."""
    since: str
    """The start of its day; for a digest, of its hour; for an event, of the period of the
    limit.
    """
    status: str
    """failed.

    failed.
    """
    subject: str
    """The account or the user; for a digest, the policy; for an event, the event and the key,
    such as submit/acme.
    """
    threshold: NotRequired[int]
    """The percentage of limit that was reached; absent for digests and reports."""
    used: NotRequired[int]
    """Messages of that day, or calls of the event; absent for digests and reports."""


class DeadAlerts(TypedDict):
    dead_alerts: list[DeadAlert]
    """By the time they ended, the oldest first."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class DeadEvent(TypedDict):
    dead_at: str
    """When it was given up."""
    event: Event
    """The event."""
    id: str
    """The id of the dead event."""
    reason: str
    """Why the last request failed."""


class DeadEvents(TypedDict):
    dead_events: list[DeadEvent]
    """The oldest first."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class DeadEventsPurge(TypedDict):
    purged: int
    """The number of removed events."""


class DeadEventsRetry(TypedDict):
    left: int
    """The number of remaining dead events."""
    retried: int
    """The number of events that are posted again."""


class DeadLetters(TypedDict):
    dead_letters: list[Status]
    """By the end time, the oldest first."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class DeadPurge(TypedDict):
    more: bool
    """There may be more: send the request again."""
    purged: int
    """The number that this request removed."""


class DeadRetry(TypedDict):
    next_cursor: NotRequired[str]
    """The cursor of the next request; absent if there are no more. The next request may retry
    none.
    """
    outcomes: list[Outcome]
    """The outcome of each, the oldest first: retried, or refused and why."""


class Delivery(TypedDict):
    attempt: int
    """The number of this attempt, from 1."""
    badge: NotRequired[int]
    """The number at the app's icon; absent to keep it."""
    body: NotRequired[str]
    """The message's text."""
    campaign: NotRequired[str]
    """The message's campaign."""
    category: NotRequired[str]
    """The message's category."""
    click_url: NotRequired[str]
    """The URL that a click opens: a web page, or a place in the app."""
    collapse_key: NotRequired[str]
    """The message replaces an earlier one with the same key on the device."""
    data: NotRequired[dict[str, str]]
    """Data for the app."""
    id: str
    """The message's id, unique for its user."""
    image: NotRequired[str]
    """The https URL of an image to show with the message."""
    metadata: NotRequired[dict[str, str]]
    """Texts of the caller by name."""
    priority: NotRequired[str]
    """high if the message may wake the device, normal if it may wait; absent if the caller did
    not say.

    high, normal.
    """
    requested_at: NotRequired[str]
    """The requested send time, if it differs."""
    send_at: str
    """The promised send time, RFC 3339 in UTC."""
    sound: NotRequired[str]
    """The name of a sound of the app's."""
    title: NotRequired[str]
    """The message's title."""
    user: str
    """The receiver of the message."""


class Device(TypedDict):
    account: NotRequired[str]
    """The account that registered it, and whose messages it receives; absent if it receives
    those of all accounts.
    """
    address: NotRequired[str]
    """The token, or the subscription as JSON. Without the scope content only the end of a token
    or the host of a subscription is shown.
    """
    app: NotRequired[str]
    """The name of the app; absent if the caller named none."""
    channel: str
    """fcm, apns or webpush. More may be added.

    fcm, apns, webpush, webhook, log, service.
    """
    id: str
    """Unique among the devices of the user."""
    last_success: NotRequired[str]
    """The hour in which its provider last accepted a push; absent if never."""
    locale: NotRequired[str]
    """The language of the device; absent if unknown."""
    registered_at: str
    """When it was last registered, to the second."""
    suspect: NotRequired[bool]
    """Its provider called it gone when too many devices were gone at once."""


class DeviceChange(TypedDict):
    device: Device
    """The device after the change."""
    moved_from: NotRequired[int]
    """How many other users had the address until now. It is no longer theirs. Absent for none."""
    outcome: str
    """added; replaced if a device had the same id or address; unchanged if it was registered
    already.

    added, replaced, unchanged.
    """
    user: str
    """The user's name."""


class DeviceDraft(TypedDict):
    app: NotRequired[str | None]
    """The name of the app, 1 to 64 of A-Z a-z 0-9 . _ - Messages can be sent to one app."""
    channel: Literal["fcm", "apns", "webpush"]
    """fcm, apns or webpush."""
    id: NotRequired[str | None]
    """1 to 64 of A-Z a-z 0-9 . _ - By default it is derived from account, channel and address,
    so that registering again is safe.
    """
    locale: NotRequired[str | None]
    """The language of the device: a tag such as de or pt-BR."""
    subscription: NotRequired[dict[str, object] | None]
    """For webpush: the browser's PushSubscription, as its toJSON returns it, with endpoint and
    keys. It is a secret.
    """
    token: NotRequired[str | None]
    """For fcm and apns: the token that the app received. It is a secret."""


class DeviceRemoval(TypedDict):
    device: str
    """The id of the device."""
    outcome: str
    """removed

    removed.
    """
    user: str
    """The user's name."""


class DeviceStatus(TypedDict):
    device: str
    """The id of the device; @ and its name for a channel without devices."""
    state: str
    """The state of the message there: delivered; gone, because the provider no longer knows the
    device; failed, because the provider does not accept the message; or uncertain.

    delivered, gone, failed, uncertain.
    """


class Devices(TypedDict):
    devices: list[Device]
    """In the order in which they were added."""
    user: str
    """The user's name."""


class DevicesUsage(TypedDict):
    limit: NotRequired[int]
    """Devices that the tier allows; absent if there is no limit."""
    remaining: NotRequired[int]
    """Devices left; absent if there is no limit."""
    used: int
    """Devices of all users."""


class Draft(TypedDict):
    badge: NotRequired[int | None]
    """The number at the app's icon. By default it does not change."""
    body: NotRequired[str | None]
    """See title."""
    campaign: NotRequired[str | None]
    """1 to 64 of a-z A-Z 0-9 . _ - A name in common, to count, list, pause, move and cancel
    messages together.
    """
    category: NotRequired[str | None]
    """1 to 64 of a-z 0-9 _ -"""
    channels: NotRequired[dict[str, dict[str, object]] | None]
    """Additions for single channels, by the name of the channel: an object of at most 4,096
    bytes in the provider's format. They are checked at submit, as is the size of the message
    for that channel.
    """
    click_url: NotRequired[str | None]
    """The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the
    app, such as myapp://orders/17. javascript:, data: and file: are not allowed.
    """
    clock_strict: NotRequired[bool | None]
    """Refuse a local time that clocks skip or show twice, and name the valid ones. By default a
    skipped time means a later one, as far behind the gap as it would be into it, and a time
    that is shown twice means the first.
    """
    collapse_key: NotRequired[str | None]
    """The message replaces an earlier one with the same key on the device: 1 to 64 printable
    ASCII characters.
    """
    data: NotRequired[dict[str, str] | None]
    """Texts by name, for the app that shows the message."""
    expires_at: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339, or a local time: a message that is not sent by then is dropped. By default a
    day after send_at. At most 31 days after the latest send time that is accepted.
    """
    follow_zone: NotRequired[bool | None]
    """Keep the local time, not the instant: when the user's own time zone changes, the message
    moves to the same local time there, by the rules. Only with a send_at that is a local
    time in the zone user. A local expires_at in the zone user moves with it.
    """
    id: NotRequired[str | None]
    """Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server
    generates one.
    """
    image: NotRequired[str | None]
    """An https URL of an image to show, of at most 2,048 bytes."""
    late: NotRequired[str | None]
    """What to do if send_at has passed: refuse the message with in_past; now, send it now if it
    passed within a day; or a length of time such as 15m, 1s to 7d, send it now if it passed
    within that. By default what the user's policy says.
    """
    metadata: NotRequired[dict[str, str] | None]
    """Texts of the caller by name: at most 8, with at most 512 bytes of names and texts
    together. A name is 1 to 64 bytes without control characters. They go to the push target,
    and stay with the status after the message has ended.
    """
    on_conflict: NotRequired[Literal["refuse", "shift", ""] | None]
    """What to do if send_at is not free: refuse the message, or shift it to the next free time.
    By default what the user's policy says; with send_at now, shift.
    """
    priority: NotRequired[Literal["high", "normal", ""] | None]
    """high if it may wake the device, normal if it may wait until the device is used. By
    default the channel decides.
    """
    send_at: NotRequired[str | datetime | None | LocalTime]
    """The send time: RFC 3339 with zone, cut to the millisecond, or a local time. now means as
    soon as the rules allow. Required, unless there is a window; beside one it is only for
    prefer nearest.
    """
    shift_until: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339, or a local time: the last time that a shift may choose. By default a day after
    send_at. Without on_conflict it applies if the user's policy shifts, and has no effect if
    the policy refuses. With refuse it is not allowed.
    """
    sound: NotRequired[str | None]
    """The name of a sound of the app's: at most 64 characters without control characters."""
    title: NotRequired[str | None]
    """Title, body and data have at most 4,096 bytes together. Title or body is required."""
    to: NotRequired[Target | None]
    """The user's devices that receive it. By default all."""
    user: str
    """The receiver: 1 to 256 bytes of UTF-8 without control or invisible characters, and
    without a space at its ends.
    """
    window: NotRequired[WindowDraft | None]
    """Asks for a free time in a window, instead of a send time."""


_EffectiveRule = TypedDict("_EffectiveRule", {
    "from": "Literal[\"policy\", \"user\"]",
})


class EffectiveRule(_EffectiveRule):
    category: NotRequired[str]
    """The category whose messages the rule counts; absent if it counts all messages."""
    replaces: NotRequired[str]
    """The policy's rule that it replaces; absent if the policy has no rule with that window, so
    that the limit applies beside its rules.
    """
    rule: str
    """The rule, as in the policy."""


class EffectiveRules(TypedDict):
    changes: NotRequired[list[str]]
    """Changes for send times of some dates."""
    exempt: NotRequired[list[ExemptCategory]]
    """Categories to which no rule applies."""
    opt_out: NotRequired[list[str]]
    """Categories that the user does not want."""
    policy: str
    """The name of the policy."""
    quiet: NotRequired[list[CategoryQuiet]]
    """Categories with quiet times of their own."""
    quiet_hours: list[str]
    """When nothing is sent, except messages of the categories in quiet: hours, allowed hours
    after the word only, and dates after the word blackout.
    """
    quiet_time_zone: str
    """The time zone of the quiet hours."""
    rules: list[EffectiveRule]
    """All rules; those of categories come last."""
    time_zone: str
    """The time zone in which calendar rules count."""
    version: int
    """The version of the policy."""


class Event(TypedDict):
    data: EventData
    """The message."""
    datacontenttype: str
    """application/json"""
    id: str
    """The event's id, unique in its source. Ids ascend with time."""
    source: str
    """The stream of the event: /v1/accounts/acme/events, or /v1/events for those of all
    accounts.
    """
    specversion: str
    """1.0, the version of CloudEvents."""
    subject: str
    """The message's id."""
    time: str
    """When it happened."""
    type: str
    """sendlimit.message. and the change: delivered, postponed, dropped, failed, uncertain,
    moved, replaced or cancelled.
    """


class EventData(TypedDict):
    account: NotRequired[str]
    """The account that was charged for the message; absent without accounts."""
    attempt: NotRequired[int]
    """The number of delivery attempts."""
    campaign: NotRequired[str]
    """Its campaign."""
    former_send_at: NotRequired[str]
    """The previous send time, if the message was moved, replaced or postponed."""
    id: str
    """The message's id."""
    local: NotRequired[ResolvedLocal]
    """The local time that was asked for, and how it was read."""
    metadata: NotRequired[dict[str, str]]
    """Its metadata."""
    provider_id: NotRequired[str]
    """The provider's id of the message."""
    reason: NotRequired[str]
    """Why the message was dropped, given up or postponed, as in the reason of a status; or
    settings_changed for a move by changed settings of its user.
    """
    requested_at: NotRequired[str]
    """The send time that was requested, if it differs from send_at."""
    send_at: NotRequired[str]
    """The current or last send time."""
    user: str
    """The user's name."""
    window: NotRequired[ResolvedWindow]
    """The window that was asked for. Then there is no requested_at."""


class EventLimits(TypedDict):
    alert_at: NotRequired[list[int]]
    """Percents of the limit of the longest period that alert; absent if there are no alerts."""
    alert_to: NotRequired[str]
    """Where the alerts go; absent if there are none."""
    event: str
    """The name of the event."""
    per_day: NotRequired[int]
    """How often in a natural day; absent if there is no limit."""
    per_hour: NotRequired[int]
    """How often in a natural hour; absent if there is no limit."""
    per_minute: NotRequired[int]
    """How often in a natural minute; absent if there is no limit."""
    time_zone: str
    """The IANA time zone of the hours and days."""


class EventLimitsDraft(TypedDict):
    alert_at: NotRequired[list[int] | None]
    """Percents of the limit of the longest period at which alert_to is alerted, ascending.
    Requires alert_to.
    """
    alert_to: NotRequired[str | None]
    """Where the alerts go: an e-mail address or an https: URL."""
    custom: NotRequired[bool | None]
    """Accept an event that your program counts, not this API. By default such a name is
    refused.
    """
    per_day: NotRequired[int | None]
    """How often in a natural day; absent for no limit. At least one limit is required."""
    per_hour: NotRequired[int | None]
    """How often in a natural hour; absent for no limit."""
    per_minute: NotRequired[int | None]
    """How often in a natural minute; absent for no limit."""
    time_zone: NotRequired[str | None]
    """The IANA time zone of the hours and days. By default UTC."""


class EventLimitsList(TypedDict):
    events: list[EventLimits]
    """By name."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class EventLimitsRemoval(TypedDict):
    event: str
    """The name of the event."""
    outcome: str
    """removed

    removed.
    """


class Events(TypedDict):
    events: list[Event]
    """The oldest first."""
    gap: NotRequired[bool]
    """The event to read after was removed, so events after it may be missing."""
    next: NotRequired[str]
    """The id to read after next; absent if there are no events."""


class ExemptCategory(TypedDict):
    category: str
    """The category's name."""
    counts: bool
    """Whether its messages count in the policy's rules."""


class FollowThrough(TypedDict):
    affected: int
    """Scheduled messages that did not fit the settings when they changed."""
    complete: bool
    """Whether nothing is left to do. Otherwise the same request continues, and so do workers.
    After a later change of the settings it is false: that change decides.
    """
    dropped: NotRequired[int]
    """Messages that were dropped."""
    gone: NotRequired[int]
    """Messages that were sent, moved or cancelled meanwhile."""
    hint: NotRequired[str]
    """A sentence for a person: what can be done."""
    kept: NotRequired[int]
    """Messages that follow the user's time zone, and stay where they are: their local time in
    the new zone is not free.
    """
    messages: NotRequired[list[Misfit]]
    """In a dry run, the messages that would not fit, by their times: at most the first 1,000."""
    moved: NotRequired[int]
    """Messages that were moved."""
    then: NotRequired[str]
    """What was asked: keep, shift or drop.

    keep, shift, drop.
    """


class Forecast(TypedDict):
    counted_at: NotRequired[str]
    """When it was counted, by the store's clock; absent before the first count, which the first
    request starts.
    """
    hours: list[int]
    """Due messages in each of 24 hours in UTC, beginning with that of counted_at."""
    later: list[HourCount]
    """Later hours with due messages, up to 400 days ahead."""
    later_counted_at: NotRequired[str]
    """When the later hours were counted; absent before the first count."""
    minutes: list[int]
    """Due messages in each of 60 minutes, beginning with that of counted_at."""
    overdue: int
    """Of these, messages whose send time had passed."""
    pending: int
    """Messages that have not ended."""


class Found(TypedDict):
    messages: list[Status]
    """One for each user with the id, not sorted."""
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class FreeTime(TypedDict):
    free_at: str
    """A free time."""
    user: str
    """The user's name."""


class FreeTimes(TypedDict):
    times: list[FreeTime]
    """Fewer than requested if no more are free within the reach."""


class HistoryEntry(TypedDict):
    at: str
    """When it changed. A delivered message was delivered when its delivery began."""
    attempt: NotRequired[int]
    """The number of the delivery that failed, was taken over or ended the message."""
    change: str
    """What changed. accepted begins a history, and delivered, cancelled, dropped, failed or
    uncertain ends it. Between them: moved, changed (content, metadata, expires_at) or
    replaced by a request, or moved by changed settings of its user (the reason is
    settings_changed); postponed because it was late, to now or later; retry of a failed
    delivery at send_at; taken_over from a worker that died or was cut off; revived from the
    dead letters; paused when it was due and its campaign was paused; resumed after that
    pause.

    accepted, moved, replaced, changed, postponed, retry, taken_over, revived, paused,
    resumed, delivered, cancelled, dropped, failed, uncertain.
    """
    former_send_at: NotRequired[str]
    """The send time before the change."""
    local: NotRequired[ResolvedLocal]
    """The local time that this change asked for, and how it was read. Only the last change that
    gave the message a send time has it.
    """
    reason: NotRequired[str]
    """Why, as in the reason of a status. A reason of more than about 20 bytes may be cut."""
    send_at: NotRequired[str]
    """The send time after the change; with retry, when delivery is tried again."""
    until: NotRequired[str]
    """For paused: when the message expires, unless its campaign is resumed before."""
    window: NotRequired[ResolvedWindow]
    """The window that this change asked for. Only the last change that gave the message a send
    time has it.
    """


class HourCount(TypedDict):
    count: int
    """Due messages."""
    start: str
    """When the hour begins."""


class Key(TypedDict):
    created_at: str
    """When it was created."""
    expires_at: NotRequired[str]
    """When the key expires; absent for never."""
    id: str
    """The key's id, which is not secret."""
    scopes: list[str]
    """What the key may be used for: submit, read, admin, content."""


class KeyDraft(TypedDict):
    expires_at: NotRequired[str | datetime | None]
    """RFC 3339: when the key expires; by default never."""
    scopes: NotRequired[list[Literal["submit", "read", "admin", "content"]] | None]
    """What the key may be used for: submit, read, admin, content; by default submit and read.
    content, which needs admin, shows content and metadata of other accounts' messages, and
    allows changing them. Only a key with this scope can give it.
    """


class KeyRotation(TypedDict):
    overlap: NotRequired[str | None]
    """How long the old key still works, such as 1h or 7d: by default 1d, at most 366d. 0 ends
    it at once.
    """


class LearnedPace(TypedDict):
    per_second: float
    """Calls of all workers together in a second, at present. The lower of it and of rate holds."""
    refused_per_second: float
    """Calls in a second when the target last refused some."""


class ListedUser(TypedDict):
    blocked: NotRequired[bool]
    """Whether no more messages are accepted for the user."""
    contact: NotRequired[str]
    """The contact that is alerted when a daily rule is full."""
    limits: NotRequired[list[str]]
    """Rules that replace the policy's rules with the same windows."""
    policy: NotRequired[str]
    """The name of the user's policy; absent for default."""
    time_zone: NotRequired[str]
    """The user's IANA time zone."""
    unreadable: NotRequired[bool]
    """Only a newer program can read the settings."""
    user: str
    """The user's name."""


class LocalTime(TypedDict):
    local: str
    """What clocks show: YYYY-MM-DDTHH:MM, with or without seconds."""
    zone: NotRequired[str | None]
    """user, which is the default: the user's own time zone, else that of the user's policy,
    else UTC. Or an IANA name such as Europe/Berlin.
    """


class MessageTarget(TypedDict):
    app: NotRequired[str]
    """The app of the devices."""
    channel: NotRequired[str]
    """The channel of the devices, or a channel without devices as a whole.

    fcm, apns, webpush, webhook, log, service.
    """
    device: NotRequired[str]
    """The id of one device."""


class Messages(TypedDict):
    messages: list[Status]
    """The messages of one user are sorted by send time, then id; those of all users are not
    sorted.
    """
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""


class Misfit(TypedDict):
    breaks: str
    """The rule that the message would break, preceded by its category if it has one; or
    quiet_hours, do_not_disturb, opted_out or blocked.
    """
    category: NotRequired[str]
    """Its category."""
    code: NotRequired[str]
    """Why the message was kept."""
    detail: str
    """A sentence for a person."""
    id: str
    """The message's id."""
    moved_from: NotRequired[str]
    """The send time that did not fit."""
    outcome: str
    """misfit in a dry run; otherwise moved, cancelled, kept if nothing could be done, or gone
    if it was sent, moved or cancelled meanwhile.

    misfit, moved, cancelled, kept, gone.
    """
    quiet_hours: NotRequired[QuietHours]
    """The quiet hours that contain the send time."""
    send_at: str
    """The send time; for a moved message, the new one."""
    user: str
    """The user's name."""


class MoveDraft(TypedDict):
    badge: NotRequired[int | None]
    """The new badge; null to leave the one at the icon."""
    body: NotRequired[str | None]
    """The new body; null for none."""
    channels: NotRequired[dict[str, dict[str, object] | None] | None]
    """By the name of a channel, a merge patch of its additions, or null to remove them; null
    instead of an object removes all.
    """
    click_url: NotRequired[str | None]
    """The new click_url; null for none."""
    clock_strict: NotRequired[bool | None]
    """Refuse a local time that clocks skip or show twice, as in a submit."""
    collapse_key: NotRequired[str | None]
    """The new collapse_key; null for none."""
    data: NotRequired[dict[str, str | None] | None]
    """Entries of data to set, or with null to remove; null instead of an object removes all."""
    expires_at: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339 or a local time, after the send time: a message that is not sent by then is
    dropped. null for a day after send_at.
    """
    follow_zone: NotRequired[bool | None]
    """Keep the new local time when the user's own time zone changes, as in a submit. A move
    without it ends that.
    """
    image: NotRequired[str | None]
    """The new image; null for none."""
    metadata: NotRequired[dict[str, str | None] | None]
    """Entries of metadata to set, or with null to remove; null instead of an object removes
    all.
    """
    on_conflict: NotRequired[Literal["refuse", "shift", ""] | None]
    """What to do if the new time is not free: refuse, so that the message keeps the old one, or
    shift it to the next free time. By default refuse.
    """
    priority: NotRequired[Literal["high", "normal", ""] | None]
    """The new priority; null for the channel's default."""
    send_at: NotRequired[str | datetime | None | LocalTime]
    """The new send time: RFC 3339 with zone, a local time, or now. Required unless there is
    something else to change.
    """
    shift_until: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339, or a local time: the last time that a shift may choose. By default a day after
    send_at. Only with on_conflict shift.
    """
    sound: NotRequired[str | None]
    """The new sound; null for none."""
    title: NotRequired[str | None]
    """The new title; null for none. Title, body and data have at most 4,096 bytes together.
    Title or body must remain.
    """
    to: NotRequired[dict[str, str | None] | None]
    """Members of to to set, or with null to remove; null instead of an object, or no member
    left, means all devices.
    """


class NewKey(TypedDict):
    created_at: str
    """When it was created."""
    expires_at: NotRequired[str]
    """When the key expires; absent for never."""
    id: str
    """The key's id, which is not secret."""
    key: str
    """The secret key, which is shown only once."""
    scopes: list[str]
    """What the key may be used for: submit, read, admin, content."""


class Notice(TypedDict):
    change: NotRequired[str]
    """The change of the account's callback: set, secret or removed; or of a key: added,
    replaced or removed. Only with the kinds callback_changed and keys_changed.

    accepted, moved, replaced, changed, postponed, retry, taken_over, revived, paused,
    resumed, delivered, cancelled, dropped, failed, uncertain.
    """
    day: NotRequired[str]
    """The day, such as 2026-11-22, in time_zone."""
    event: NotRequired[str]
    """The event with the limit. Only with the kind event_limit."""
    host: NotRequired[str]
    """The host of the callback after the change. Only with the kind callback_changed."""
    id: str
    """Its id, the same at every attempt."""
    key: NotRequired[str]
    """The key whose calls are counted: the account, for events of the API. With keys_changed,
    the id of the API key that was replaced or removed. Only with these kinds.
    """
    kind: str
    """account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed
    or keys_changed.

    account_quota, user_quota, user_quota_digest, daily_report, event_limit,
    callback_changed, keys_changed.
    """
    limit: NotRequired[int]
    """Messages that the day's quota or rule allows, or calls that the event's limit allows.
    Only in alerts.
    """
    more: NotRequired[int]
    """Users of a digest beyond users."""
    policy: NotRequired[str]
    """The policy of that rule."""
    report: NotRequired[Report]
    """The figures of a daily report."""
    rule: NotRequired[str]
    """The user's daily rule, such as 10/calendar_day; for an event, its limit, such as
    100/calendar_hour.
    """
    scopes: NotRequired[list[str]]
    """What the key allows that was added. Only with the kind keys_changed."""
    since: NotRequired[str]
    """When the period of the event's limit began, RFC 3339 in time_zone; with callback_changed
    and keys_changed, the time of the change. Only with these kinds.
    """
    subject: str
    """The account or the user; in a digest, the policy; for an event, the event and the key,
    such as submit/acme.
    """
    threshold: NotRequired[int]
    """The percentage of limit that was reached. Only in alerts."""
    time_zone: NotRequired[str]
    """The IANA zone of the day; absent for UTC."""
    until: NotRequired[str]
    """When that period ends. Only with the kind event_limit."""
    used: NotRequired[int]
    """Messages of that day, or calls of the event, when the threshold was reached. Only in
    alerts.
    """
    users: NotRequired[list[UserQuota]]
    """The users of a digest."""


class Outcome(TypedDict):
    code: NotRequired[str]
    """The code of a refusal or an error, for programs."""
    detail: NotRequired[str]
    """A sentence for a person."""
    do_not_disturb_until: NotRequired[str]
    """The time before which the user is not disturbed, with the code do_not_disturb."""
    field: NotRequired[str]
    """The field or parameter that is wrong. If several are wrong, this is the first and detail
    names all.
    """
    forgotten: NotRequired[bool]
    """The message was recorded, but is too old to count in any rule."""
    id: NotRequired[str]
    """The message's id."""
    late: NotRequired[bool]
    """The requested send time had passed, and the message is sent now."""
    line: NotRequired[int]
    """The line of a batch, from 1."""
    local: NotRequired[ResolvedLocal]
    """How the send time was read, if it was asked for as a local time."""
    moved_from: NotRequired[str]
    """The send time before the last move; with replaced, that of the former message, not in a
    repetition.
    """
    next_free_at: NotRequired[str]
    """The next free time; absent if there is none, or in a batch with without_free_times."""
    others: NotRequired[str]
    """all or some, if all or some of the messages in the way belong to other accounts; absent
    if none does, and with the scope admin.
    """
    outcome: str
    """What was done. With refused, invalid and error nothing was done.

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """
    previous_free_at: NotRequired[str]
    """The last free time before the requested one that is not in the past; absent if there is
    none.
    """
    quiet_hours: NotRequired[QuietHours]
    """The quiet hours that contain the send time, with the code quiet_hours."""
    replayed: NotRequired[bool]
    """The request is a repetition, and this is the answer to the first one."""
    requested_at: NotRequired[str]
    """The send time that was requested, if it differs from send_at."""
    resets_at: NotRequired[str]
    """When the exhausted quota starts again."""
    retry_after_seconds: NotRequired[int]
    """Seconds until resets_at, if that is the end of the current hour or day; with
    rate_limited, until the message can be moved or replaced again.
    """
    send_at: NotRequired[str]
    """The send time."""
    shifted: NotRequired[bool]
    """The message got the next free time instead of the requested one."""
    user: NotRequired[str]
    """The user's name."""
    violations: NotRequired[list[Violation]]
    """Every rule that the message would break, in the order of the policy."""
    window: NotRequired[ResolvedWindow]
    """The window that was asked for. Then there is no requested_at."""
    window_end: NotRequired[WindowEnd]
    """Why the last time of the window is not free. code, violations and the like are about
    send_at, its first time that is not past, and next_free_at and previous_free_at are
    outside the window.
    """


class Overview(TypedDict):
    at: str
    """When, by the store's clock."""
    behind_ms: int
    """The queue lag: for how many milliseconds the oldest undelivered message has been due; 0
    if none is.
    """
    dead_letters: int
    """Messages that were given up."""
    failed_alerts: int
    """Alerts and reports that were given up."""
    hour: Activity
    """What became of messages in the last 60 minutes."""
    minutes: list[ActivityMinute]
    """The same by minute, the present one last."""
    queue: dict[str, int]
    """How many tasks the queue has in each state."""
    sending: Sending
    """Whether an operator has stopped all sending."""
    unread: NotRequired[str]
    """Why a part could not be read: that part is out of date. Absent if everything was read."""
    workers: list[Worker]
    """The workers, by host and process."""


class Pace(TypedDict):
    burst: NotRequired[int]
    """Deliveries that may start at once; absent if it is as many as the rate allows."""
    learned: NotRequired[LearnedPace]
    """How fast the target accepts calls, as its refusals show; absent if it has refused none
    for an hour.
    """
    paused_until: NotRequired[str]
    """The end of the pause that the target asked for; absent if there is none."""
    rate: NotRequired[str]
    """Deliveries in an interval; absent without a limit."""
    target: str
    """The target: push, or push- and a channel."""


class PaceDraft(TypedDict):
    burst: NotRequired[int | None]
    """Deliveries that may start at once, at most as many as the rate allows, which is the
    default.
    """
    rate: str
    """Deliveries in an interval, such as 100/second, 6000/minute or 20/500ms: 1 to 100,000 in 1
    ms to 31 days.
    """


class Policies(TypedDict):
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""
    policies: list[Policy]
    """By name."""
    unreadable: NotRequired[list[str]]
    """Names of policies of this page that only a newer program can read."""


class Policy(TypedDict):
    account_share: NotRequired[str]
    """What percentage of each rule one account may use up for a user where several accounts are
    active, such as 50%, rounded up; by default all. It is judged when a message is submitted
    or moved.
    """
    alert_at: NotRequired[list[int]]
    """Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and
    100, empty is never.
    """
    alert_to: NotRequired[str]
    """Who receives a list of users that reached such a percentage, once an hour: an e-mail
    address or an https: URL.
    """
    blackouts: NotRequired[list[str]]
    """Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every
    year, 2027-04-02..2027-04-05, or the name of a calendar.
    """
    calendars: NotRequired[dict[str, list[str] | None]]
    """Lists of dates by name, which blackouts can name. A name begins with a letter."""
    categories: NotRequired[dict[str, Category]]
    """Rules for messages of a category, by its name."""
    changes: NotRequired[list[Change]]
    """Changes for the send times of some dates, at most one to each time."""
    late: NotRequired[str]
    """What becomes of a message without its own late whose send_at has passed: refuse; now, if
    it passed within a day; or how long ago it may have passed, 1s to 7d, such as 15m. Then
    it is sent now. By default refuse.
    """
    name: NotRequired[str]
    """1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address."""
    on_conflict: NotRequired[Literal["refuse", "shift"]]
    """refuse or shift, for a message without its own on_conflict whose time is not free; by
    default refuse.
    """
    only: NotRequired[list[str]]
    """The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by
    default all.
    """
    quiet_hours: NotRequired[list[str]]
    """When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00."""
    reach: NotRequired[str]
    """How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as
    the program allows.
    """
    rules: list[str]
    """At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A
    message must fit all.
    """
    shift_spread: NotRequired[str]
    """Over how long after the end of quiet hours, or of other times at which nothing is sent,
    messages are spread that shift out of them: 1s to 1d, such as 30m. By default all of them
    take the first moment that is free.
    """
    time_zone: NotRequired[str]
    """The IANA time zone of calendar rules and quiet hours; by default UTC."""
    unknown_categories: NotRequired[Literal["refuse", "allow"]]
    """refuse or allow, for a message of a category that the policy does not name; by default
    refuse if it names any.
    """
    user_time_zone: NotRequired[bool]
    """Whether calendar rules count in the user's own time zone, if it is set."""
    version: NotRequired[int]
    """Differs after each change. Ignored in a request: If-Match names the version to replace."""


class PolicyChange(TypedDict):
    changed: bool
    """Whether the policy changed. Then its version changed too."""
    exact_from: NotRequired[str]
    """The send time from which on the rules count everything. It is set if a window is longer
    than those of all policies before, because older sends are forgotten.
    """
    new: Policy
    """The policy after the change."""
    old: NotRequired[Policy]
    """The policy before; absent if there was none."""


class PolicyDeletion(TypedDict):
    outcome: str
    """deleted

    deleted.
    """
    policy: str
    """The name of the policy."""


class PolicyDocument(TypedDict):
    account_share: NotRequired[str | None]
    """What percentage of each rule one account may use up for a user where several accounts are
    active, such as 50%, rounded up; by default all. It is judged when a message is submitted
    or moved.
    """
    alert_at: NotRequired[list[int] | None]
    """Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and
    100, empty is never.
    """
    alert_to: NotRequired[str | None]
    """Who receives a list of users that reached such a percentage, once an hour: an e-mail
    address or an https: URL.
    """
    blackouts: NotRequired[list[str] | None]
    """Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every
    year, 2027-04-02..2027-04-05, or the name of a calendar.
    """
    calendars: NotRequired[dict[str, list[str] | None] | None]
    """Lists of dates by name, which blackouts can name. A name begins with a letter."""
    categories: NotRequired[dict[str, CategoryDocument] | None]
    """Rules for messages of a category, by its name."""
    changes: NotRequired[list[ChangeDocument] | None]
    """Changes for the send times of some dates, at most one to each time."""
    late: NotRequired[str | None]
    """What becomes of a message without its own late whose send_at has passed: refuse; now, if
    it passed within a day; or how long ago it may have passed, 1s to 7d, such as 15m. Then
    it is sent now. By default refuse.
    """
    name: NotRequired[str | None]
    """1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address."""
    on_conflict: NotRequired[Literal["refuse", "shift", ""] | None]
    """refuse or shift, for a message without its own on_conflict whose time is not free; by
    default refuse.
    """
    only: NotRequired[list[str] | None]
    """The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by
    default all.
    """
    quiet_hours: NotRequired[list[str] | None]
    """When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00."""
    reach: NotRequired[str | None]
    """How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as
    the program allows.
    """
    rules: list[str]
    """At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A
    message must fit all.
    """
    shift_spread: NotRequired[str | None]
    """Over how long after the end of quiet hours, or of other times at which nothing is sent,
    messages are spread that shift out of them: 1s to 1d, such as 30m. By default all of them
    take the first moment that is free.
    """
    time_zone: NotRequired[str | None]
    """The IANA time zone of calendar rules and quiet hours; by default UTC."""
    unknown_categories: NotRequired[Literal["refuse", "allow", ""] | None]
    """refuse or allow, for a message of a category that the policy does not name; by default
    refuse if it names any.
    """
    user_time_zone: NotRequired[bool | None]
    """Whether calendar rules count in the user's own time zone, if it is set."""
    version: NotRequired[int | None]
    """Differs after each change. Ignored in a request: If-Match names the version to replace."""


class PolicyRollback(TypedDict):
    version: int
    """The version to store again, one of those that listPolicyVersions returns."""


class PolicyVersion(TypedDict):
    at: str
    """When it was stored."""
    by: NotRequired[str]
    """Who stored it: "account" and a name, or the name of who sent no key; absent if that is
    unknown.
    """
    deleted: NotRequired[bool]
    """The policy was deleted with this version."""
    policy: NotRequired[Policy]
    """The policy; absent for a deletion, and if only a newer program can read it."""
    version: int
    """The version, for rollbackPolicy."""


class PolicyVersions(TypedDict):
    versions: list[PolicyVersion]
    """The newest first, at most 100."""


class Problem(TypedDict):
    code: NotRequired[str]
    """The code of a refusal or an error, for programs."""
    detail: NotRequired[str]
    """A sentence for a person."""
    do_not_disturb_until: NotRequired[str]
    """The time before which the user is not disturbed, with the code do_not_disturb."""
    field: NotRequired[str]
    """The field or parameter that is wrong. If several are wrong, this is the first and detail
    names all.
    """
    forgotten: NotRequired[bool]
    """The message was recorded, but is too old to count in any rule."""
    id: NotRequired[str]
    """The message's id."""
    instance: NotRequired[str]
    """The request's id, as X-Request-Id has it."""
    late: NotRequired[bool]
    """The requested send time had passed, and the message is sent now."""
    line: NotRequired[int]
    """The line of a batch, from 1."""
    local: NotRequired[ResolvedLocal]
    """How the send time was read, if it was asked for as a local time."""
    moved_from: NotRequired[str]
    """The send time before the last move; with replaced, that of the former message, not in a
    repetition.
    """
    next_free_at: NotRequired[str]
    """The next free time; absent if there is none, or in a batch with without_free_times."""
    others: NotRequired[str]
    """all or some, if all or some of the messages in the way belong to other accounts; absent
    if none does, and with the scope admin.
    """
    outcome: str
    """What was done. With refused, invalid and error nothing was done.

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """
    previous_free_at: NotRequired[str]
    """The last free time before the requested one that is not in the past; absent if there is
    none.
    """
    quiet_hours: NotRequired[QuietHours]
    """The quiet hours that contain the send time, with the code quiet_hours."""
    replayed: NotRequired[bool]
    """The request is a repetition, and this is the answer to the first one."""
    requested_at: NotRequired[str]
    """The send time that was requested, if it differs from send_at."""
    resets_at: NotRequired[str]
    """When the exhausted quota starts again."""
    retry_after_seconds: NotRequired[int]
    """Seconds until resets_at, if that is the end of the current hour or day; with
    rate_limited, until the message can be moved or replaced again.
    """
    send_at: NotRequired[str]
    """The send time."""
    shifted: NotRequired[bool]
    """The message got the next free time instead of the requested one."""
    status: int
    """The HTTP status."""
    title: str
    """The kind of problem in a few words."""
    type: str
    """Names the kind of problem, by its code: /problems/send_limit."""
    user: NotRequired[str]
    """The user's name."""
    violations: NotRequired[list[Violation]]
    """Every rule that the message would break, in the order of the policy."""
    window: NotRequired[ResolvedWindow]
    """The window that was asked for. Then there is no requested_at."""
    window_end: NotRequired[WindowEnd]
    """Why the last time of the window is not free. code, violations and the like are about
    send_at, its first time that is not past, and next_free_at and previous_free_at are
    outside the window.
    """


class PutDraft(TypedDict):
    badge: NotRequired[int | None]
    """The number at the app's icon. By default it does not change."""
    body: NotRequired[str | None]
    """See title."""
    campaign: NotRequired[str | None]
    """1 to 64 of a-z A-Z 0-9 . _ - A name in common, to count, list, pause, move and cancel
    messages together.
    """
    category: NotRequired[str | None]
    """1 to 64 of a-z 0-9 _ -"""
    channels: NotRequired[dict[str, dict[str, object]] | None]
    """Additions for single channels, by the name of the channel: an object of at most 4,096
    bytes in the provider's format. They are checked at submit, as is the size of the message
    for that channel.
    """
    click_url: NotRequired[str | None]
    """The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the
    app, such as myapp://orders/17. javascript:, data: and file: are not allowed.
    """
    clock_strict: NotRequired[bool | None]
    """Refuse a local time that clocks skip or show twice, and name the valid ones. By default a
    skipped time means a later one, as far behind the gap as it would be into it, and a time
    that is shown twice means the first.
    """
    collapse_key: NotRequired[str | None]
    """The message replaces an earlier one with the same key on the device: 1 to 64 printable
    ASCII characters.
    """
    data: NotRequired[dict[str, str] | None]
    """Texts by name, for the app that shows the message."""
    expires_at: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339, or a local time: a message that is not sent by then is dropped. By default a
    day after send_at. At most 31 days after the latest send time that is accepted.
    """
    follow_zone: NotRequired[bool | None]
    """Keep the local time, not the instant: when the user's own time zone changes, the message
    moves to the same local time there, by the rules. Only with a send_at that is a local
    time in the zone user. A local expires_at in the zone user moves with it.
    """
    id: NotRequired[str | None]
    """Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server
    generates one.
    """
    image: NotRequired[str | None]
    """An https URL of an image to show, of at most 2,048 bytes."""
    late: NotRequired[str | None]
    """What to do if send_at has passed: refuse the message with in_past; now, send it now if it
    passed within a day; or a length of time such as 15m, 1s to 7d, send it now if it passed
    within that. By default what the user's policy says.
    """
    metadata: NotRequired[dict[str, str] | None]
    """Texts of the caller by name: at most 8, with at most 512 bytes of names and texts
    together. A name is 1 to 64 bytes without control characters. They go to the push target,
    and stay with the status after the message has ended.
    """
    on_conflict: NotRequired[Literal["refuse", "shift", ""] | None]
    """What to do if send_at is not free: refuse the message, or shift it to the next free time.
    By default what the user's policy says; with send_at now, shift.
    """
    priority: NotRequired[Literal["high", "normal", ""] | None]
    """high if it may wake the device, normal if it may wait until the device is used. By
    default the channel decides.
    """
    send_at: NotRequired[str | datetime | None | LocalTime]
    """The send time: RFC 3339 with zone, cut to the millisecond, or a local time. now means as
    soon as the rules allow. Required, unless there is a window; beside one it is only for
    prefer nearest.
    """
    shift_until: NotRequired[str | datetime | None | LocalTime]
    """RFC 3339, or a local time: the last time that a shift may choose. By default a day after
    send_at. Without on_conflict it applies if the user's policy shifts, and has no effect if
    the policy refuses. With refuse it is not allowed.
    """
    sound: NotRequired[str | None]
    """The name of a sound of the app's: at most 64 characters without control characters."""
    title: NotRequired[str | None]
    """Title, body and data have at most 4,096 bytes together. Title or body is required."""
    to: NotRequired[Target | None]
    """The user's devices that receive it. By default all."""
    user: NotRequired[str | None]
    """The receiver: 1 to 256 bytes of UTF-8 without control or invisible characters, and
    without a space at its ends.
    """
    window: NotRequired[WindowDraft | None]
    """Asks for a free time in a window, instead of a send time."""


_QuietHours = TypedDict("_QuietHours", {
    "from": "str",
})


class QuietHours(_QuietHours):
    hours: str
    """The quiet hours as in the policy."""
    time_zone: str
    """The IANA time zone of the quiet hours."""
    until: str
    """The end, which is not included."""


_QuotaUsage = TypedDict("_QuotaUsage", {
    "from": "str",
})


class QuotaUsage(_QuotaUsage):
    limit: NotRequired[int]
    """Messages that the tier allows in it; absent if there is no limit."""
    remaining: NotRequired[int]
    """Messages left; absent if there is no limit."""
    until: str
    """When it ends, and the next one begins with nothing used."""
    used: int
    """Messages charged in it so far, by their send times: sent, or still scheduled."""


class RefitBaseline(TypedDict):
    misfit_users: int
    """Users with messages that do not fit it."""
    misfits: int
    """Messages that do not fit it."""
    misfits_by_rule: dict[str, int]
    """Messages that do not fit it, by the rule that they would break."""
    version: int
    """The version of the stored policy."""


class RefitProgress(TypedDict):
    outcome: Literal["progress"]
    """progress"""
    partitions: int
    """The number of parts of the store."""
    partitions_done: int
    """Parts of the store that are done, including those of an earlier run."""


class RefitSummary(TypedDict):
    baseline: NotRequired[RefitBaseline]
    """In a dry run of another policy, the misfits of the stored policy."""
    cancelled: NotRequired[int]
    """Messages that were cancelled."""
    first_partition: NotRequired[int]
    """The part of the store at which it continued after an earlier run, whose figures it
    includes.
    """
    gone: NotRequired[int]
    """Messages that were sent, moved or cancelled meanwhile."""
    kept: NotRequired[int]
    """Messages for which nothing could be done: they are sent as accepted."""
    limit_users: NotRequired[int]
    """Users whose own limit replaces no rule of the policy, and applies beside them."""
    misfit_users: int
    """Users with messages that do not fit."""
    misfits: int
    """Messages that do not fit."""
    misfits_by_rule: dict[str, int]
    """Messages that do not fit, by the rule that they would break."""
    moved: NotRequired[int]
    """Messages that were moved."""
    next_partition: int
    """The next part of the store. When all are done, the number of parts."""
    outcome: Literal["dry_run", "refitted"]
    """dry_run or refitted. The summary is the last line, or the line before an error."""
    policy: str
    """The name of the policy."""
    reservations: int
    """Their messages that were checked."""
    then: NotRequired[Literal["shift", "cancel"]]
    """What was done: shift or cancel; absent in a dry run."""
    unclear_users: NotRequired[int]
    """Users that were skipped, since their settings name a policy that does not exist."""
    users: int
    """Users of the policy with scheduled messages."""
    version: NotRequired[int]
    """The version of the policy; absent in a dry run."""


class Report(TypedDict):
    accepted: int
    """Submits accepted on that day, for any day."""
    cancelled: int
    """Messages cancelled on that day."""
    dropped: int
    """Messages dropped on that day, because they expired."""
    failed: int
    """Messages given up on that day, because the provider refused them or they may have
    arrived. They are dead letters.
    """
    late: int
    """Messages sent after the tolerance, which sent includes."""
    refused: NotRequired[dict[str, int]]
    """Submits refused on that day, by rule, or by code if no rule refused them."""
    retried: int
    """Dead letters retried on that day."""
    sent: int
    """Messages sent on that day, late ones included."""
    waiting_change: int
    """How many more messages waited at the end of the day than at its begin, negative if fewer.
    accepted and retried together are the sum of sent, dropped, failed, cancelled and
    waiting_change.
    """


_RequestUsage = TypedDict("_RequestUsage", {
    "from": "str",
})


class RequestUsage(_RequestUsage):
    limit: int
    """Requests that the tier allows."""
    remaining: int
    """Requests left."""
    until: str
    """When it ends, and the next one begins with nothing used."""
    used: int
    """Requests so far."""


class RequestsUsage(TypedDict):
    change: RequestUsage
    """All others."""
    read: RequestUsage
    """Those that read."""
    submit: RequestUsage
    """Those that submit."""


class ResolvedLocal(TypedDict):
    asked: str
    """The zone that was asked for: user, or an IANA name."""
    clock: NotRequired[str]
    """skipped, if clocks are put forward over the time: then a later time is meant, as far
    behind the gap as the time would be into it. repeated, if clocks are put back and show it
    twice: then the first one is meant. Absent if clocks show it once.
    """
    follow_zone: NotRequired[bool]
    """Whether the message keeps this local time when the user's own zone changes."""
    time: str
    """The local time that was asked for."""
    zone: str
    """The IANA name of the zone in which it was read."""


_ResolvedWindow = TypedDict("_ResolvedWindow", {
    "from": "str",
})


class ResolvedWindow(_ResolvedWindow):
    prefer: str
    """Which free time of the window the message gets.

    earliest, latest, nearest, spread, best.
    """
    send_at: NotRequired[str]
    """With nearest, the time that the message is to be near to."""
    until: str
    """The end, which is not included."""


_RuleUsage = TypedDict("_RuleUsage", {
    "from": "str",
})


class RuleUsage(_RuleUsage):
    category: NotRequired[str]
    """The category whose messages the rule counts; absent if it counts all messages."""
    kind: Literal["sliding", "calendar"]
    """sliding: counts in every window of the length. calendar: counts in natural periods such
    as days.
    """
    limit: int
    """How many messages it allows in its window."""
    rule: str
    """The rule, as in the policy."""
    until: str
    """The end, which is not included."""
    used: int
    """How many messages are in the window."""
    window_seconds: NotRequired[int]
    """The length of a sliding rule's window."""


class SecretRotation(TypedDict):
    overlap: NotRequired[str | None]
    """How long the old secret signs too, such as 1h or 7d: by default 1d, at most 366d. 0 ends
    it at once.
    """


class Sending(TypedDict):
    by: NotRequired[str]
    """Who stopped it."""
    reason: NotRequired[str]
    """Why it is stopped, in the words of who stopped it."""
    since: NotRequired[str]
    """Since when it is stopped, by the store's clock."""
    state: str
    """running; or stopped by an operator, while accepted messages wait."""


class SendingChange(TypedDict):
    by: NotRequired[str]
    """Who stopped it."""
    outcome: str
    """stopped, already_stopped, started or already_running. The already ones changed nothing:
    an earlier stop keeps its reason.

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """
    reason: NotRequired[str]
    """Why it is stopped, in the words of who stopped it."""
    since: NotRequired[str]
    """Since when it is stopped, by the store's clock."""
    state: str
    """running; or stopped by an operator, while accepted messages wait."""


class SendingStopDraft(TypedDict):
    reason: str
    """Why: 1 to 500 bytes of UTF-8 without control characters. Operators see it on every page
    of the dashboard, and in the audit log.
    """


class Session(TypedDict):
    account: str
    """The account that has logged in."""
    address: NotRequired[str]
    """The address of the client; absent if unknown."""
    began: str
    """When it began."""
    ends: str
    """When it ends, unless its key is removed before."""
    id: str
    """The session's id, which is not secret."""
    key: str
    """The id of its key."""


class SessionEnd(TypedDict):
    outcome: str
    """ended

    accepted, replaced, cancelled, moved, changed, recorded, retried, purged, refused,
    invalid, error.
    """
    session: str
    """Its id."""


class Sessions(TypedDict):
    sessions: list[Session]
    """By their end, the first one first."""


class SettingsDraft(TypedDict):
    best_hours: NotRequired[list[int] | None]
    """How well each hour of the week suits the user: 168 weights from 0 to 1000, from Monday
    00:00 on, by the clocks of the user's time zone. Windows with prefer best draw send times
    in their ratio. Where all are 0, all hours suit alike.
    """
    blocked: NotRequired[bool | None]
    """Whether no more messages are accepted for the user. Scheduled ones are dropped at their
    send times.
    """
    categories: NotRequired[dict[str, list[str] | None] | None]
    """Rules of single categories, by name. They replace the category's rules with the same
    windows, or apply beside them.
    """
    contact: NotRequired[str | None]
    """Where alerts about full daily rules go: an e-mail address or an https: URL."""
    do_not_disturb_until: NotRequired[str | datetime | None]
    """Before this time nothing is sent to the user, except messages of exempt categories.
    Messages for earlier times are refused or shifted; scheduled ones are sent afterwards, as
    late ones.
    """
    dry_run: NotRequired[bool | None]
    """Changes nothing, and lists the scheduled messages that would not fit."""
    limits: NotRequired[list[str] | None]
    """Rules that replace the policy's rules with the same windows: 20/calendar_day replaces
    10/calendar_day.
    """
    opt_out: NotRequired[list[str] | None]
    """Categories that the user does not want; all stands for everything but exempt categories.
    Their messages are refused, and scheduled ones are dropped at their send time.
    """
    policy: NotRequired[str | None]
    """The name of an existing policy, instead of default."""
    quiet_hours: NotRequired[list[str] | None]
    """Quiet hours of the user, beside those of the policy. Scheduled messages whose times lie
    in them are sent afterwards, as late ones.
    """
    then: NotRequired[Literal["keep", "shift", "drop", ""] | None]
    """What becomes of scheduled messages that do not fit the new settings: keep sends them at
    their times, also in quiet hours of the user; shift moves each to its next free time, and
    drops it if none is free before it expires; drop drops them. If absent, they stay, and
    wait at their times for the end of the user's quiet hours.
    """
    time_zone: NotRequired[str | None]
    """An IANA time zone, for quiet hours, and for calendar rules if the policy says so."""


class SettingsPatch(TypedDict):
    best_hours: NotRequired[list[int] | None]
    """The 168 weights of the hours of the week, from Monday 00:00 on."""
    blocked: NotRequired[bool | None]
    """Whether no more messages are accepted."""
    categories: NotRequired[dict[str, list[str] | None] | None]
    """All own rules of categories."""
    contact: NotRequired[str | None]
    """An e-mail address or an https: URL."""
    do_not_disturb_until: NotRequired[str | datetime | None]
    """The time before which nothing is sent to the user, except messages of exempt categories."""
    dry_run: NotRequired[bool | None]
    """Changes nothing, and lists the scheduled messages that would not fit."""
    limits: NotRequired[list[str] | None]
    """All rules of the user's own."""
    opt_out: NotRequired[list[str] | None]
    """All categories that the user does not want; all stands for everything but exempt
    categories.
    """
    policy: NotRequired[str | None]
    """The name of an existing policy."""
    quiet_hours: NotRequired[list[str] | None]
    """All quiet hours of the user."""
    then: NotRequired[Literal["keep", "shift", "drop", ""] | None]
    """What becomes of scheduled messages that do not fit the new settings: keep sends them at
    their times, also in quiet hours of the user; shift moves each to its next free time, and
    drops it if none is free before it expires; drop drops them. If absent, they stay, and
    wait at their times for the end of the user's quiet hours.
    """
    time_zone: NotRequired[str | None]
    """An IANA time zone."""


class Stats(TypedDict):
    dead_letters: int
    """Messages that were given up. It may include a few that are none any more."""
    failed_alerts: int
    """Quota alerts and reports that were given up."""
    oldest_overdue_seconds: float
    """Seconds since the oldest entry of the schedule was due to be handed over to the queue, or
    to be checked; 0 for none. More than half the horizon means that messages may be late.
    """
    pending: int
    """Messages that have not ended, in the schedule and in the queue."""
    queue: dict[str, int]
    """Tasks in the queue by state: scheduled, pending, active, retry and archived. A message is
    in the queue when it is due soon.
    """
    store: list[StoreMemory]
    """The store's servers that report their memory."""
    version: str
    """The version of the program that answers."""


class Status(TypedDict):
    account: NotRequired[str]
    """The account that is charged for the message; absent without accounts."""
    attempts: NotRequired[int]
    """The number of delivery attempts."""
    badge: NotRequired[int]
    """The number at the app's icon. By default it does not change."""
    body: NotRequired[str]
    """Its body; absent for the same reasons as title."""
    campaign: NotRequired[str]
    """Its campaign."""
    category: NotRequired[str]
    """Its category."""
    channels: NotRequired[dict[str, dict[str, object]]]
    """Additions for single channels, by the name of the channel: an object of at most 4,096
    bytes in the provider's format. They are checked at submit, as is the size of the message
    for that channel.
    """
    click_url: NotRequired[str]
    """The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the
    app, such as myapp://orders/17. javascript:, data: and file: are not allowed.
    """
    collapse_key: NotRequired[str]
    """The message replaces an earlier one with the same key on the device: 1 to 64 printable
    ASCII characters.
    """
    data: NotRequired[dict[str, str]]
    """Its data; absent for the same reasons as title."""
    delivered_at: NotRequired[str]
    """When its delivery began."""
    devices: NotRequired[list[DeviceStatus]]
    """The devices for which the message has ended; absent before."""
    ended_at: NotRequired[str]
    """When the message ended without being delivered."""
    expires_at: NotRequired[str]
    """A message that is not sent by then is dropped."""
    history: NotRequired[list[HistoryEntry]]
    """The last changes of the message, including its accept and its end, at most 16, oldest
    first; absent in lists. A running delivery is not a change.
    """
    id: str
    """The message's id."""
    image: NotRequired[str]
    """An https URL of an image to show, of at most 2,048 bytes."""
    lateness_ms: NotRequired[int]
    """Milliseconds from the promised time to delivered_at."""
    local: NotRequired[ResolvedLocal]
    """How the send time was read, if it was last asked for as a local time."""
    metadata: NotRequired[dict[str, str]]
    """Its metadata."""
    moved_from: NotRequired[str]
    """The send time before the last move."""
    next_try_at: NotRequired[str]
    """When a failed delivery is retried; or when a message is checked again that waits for its
    paused campaign, for a dated change of its policy, or for a free time because it may have
    arrived.
    """
    priority: NotRequired[str]
    """high if it may wake the device, normal if it may wait until the device is used. By
    default the channel decides.

    high, normal.
    """
    promised_at: NotRequired[str]
    """The send time before the message was postponed or sent late, if it differs from send_at."""
    provider_id: NotRequired[str]
    """The provider's id of the message."""
    provider_said: NotRequired[str]
    """The provider's answer to a message that was given up."""
    reason: NotRequired[str]
    """Why the message was dropped, given up or postponed, or why it is retried. For a postponed
    message it has the rule: late: 1/minute was in the way. For a dropped one it is expired,
    no_free_time, blocked, opted_out or no_device. For a delivered one it says why other
    devices were given up.
    """
    requested_at: NotRequired[str]
    """The send time that was requested, if it differs from send_at."""
    send_at: str
    """The send time."""
    shifted: NotRequired[bool]
    """The message got the next free time instead of the requested one."""
    sound: NotRequired[str]
    """The name of a sound of the app's: at most 64 characters without control characters."""
    status: str
    """The state of the message.

    scheduled, postponed, moved, sending, delivered, dropped, failed, uncertain, cancelled.
    """
    title: NotRequired[str]
    """Its title; absent in lists, after it was erased, and for keys without access."""
    to: NotRequired[MessageTarget]
    """The user's devices that receive it. By default all."""
    uncertain: NotRequired[bool]
    """Whether an earlier attempt may have arrived."""
    user: str
    """The user's name."""
    window: NotRequired[ResolvedWindow]
    """The window that the submit asked for; absent after a move."""


class StoreMemory(TypedDict):
    max_bytes: NotRequired[int]
    """Its limit; absent if it has none."""
    server: str
    """Its address; empty if there is only one server."""
    used_bytes: int
    """Memory in use that counts towards the limit."""


_Stretch = TypedDict("_Stretch", {
    "from": "str",
})


class Stretch(_Stretch):
    until: str
    """The end, which is not included."""


class Target(TypedDict):
    app: NotRequired[str | None]
    """The app of the devices."""
    channel: NotRequired[Literal["fcm", "apns", "webpush", "webhook", "log", "service", ""] | None]
    """The channel of the devices, or a channel without devices as a whole."""
    device: NotRequired[str | None]
    """The id of one device."""


class Tier(TypedDict):
    alert_at: NotRequired[list[int]]
    """Percents of messages_per_day at which the account's contact is alerted; by default 80 and
    100, empty is never.
    """
    devices: NotRequired[int]
    """Devices that an account may have registered at a time, of all users; 0 is no limit. An
    account that has more keeps them, and registers no others.
    """
    lines_per_minute: NotRequired[int]
    """Lines of batches in a minute, over all batches of the account; 0 is no limit. A bucket of
    as many lines fills evenly, and a batch waits for it.
    """
    messages_per_day: NotRequired[int]
    """Messages to be sent in each natural day of the account's time zone; 0 is no limit."""
    messages_per_hour: NotRequired[int]
    """Messages to be sent in each natural hour of the account's time zone; 0 is no limit."""
    name: str
    """1 to 64 of a-z 0-9 _ -"""
    requests_per_day: NotRequired[int]
    """Requests in each natural day in UTC, in the same three counters; 0 is no limit. If the
    event that a request counts as has a time zone, the day is that zone's.
    """
    requests_per_minute: NotRequired[int]
    """Requests in each natural minute, in three separate counters: those that submit, those
    that read, and all others; 0 is no limit.
    """


class TierLimits(TypedDict):
    alert_at: NotRequired[list[int] | None]
    """Percents of messages_per_day at which the account's contact is alerted; by default 80 and
    100, empty is never.
    """
    devices: NotRequired[int | None]
    """Devices that an account may have registered at a time, of all users; 0 is no limit. An
    account that has more keeps them, and registers no others.
    """
    lines_per_minute: NotRequired[int | None]
    """Lines of batches in a minute, over all batches of the account; 0 is no limit. A bucket of
    as many lines fills evenly, and a batch waits for it.
    """
    messages_per_day: NotRequired[int | None]
    """Messages to be sent in each natural day of the account's time zone; 0 is no limit."""
    messages_per_hour: NotRequired[int | None]
    """Messages to be sent in each natural hour of the account's time zone; 0 is no limit."""
    requests_per_day: NotRequired[int | None]
    """Requests in each natural day in UTC, in the same three counters; 0 is no limit. If the
    event that a request counts as has a time zone, the day is that zone's.
    """
    requests_per_minute: NotRequired[int | None]
    """Requests in each natural minute, in three separate counters: those that submit, those
    that read, and all others; 0 is no limit.
    """


class TierRemoval(TypedDict):
    outcome: str
    """removed

    removed.
    """
    tier: str
    """The name of the tier."""


class Tiers(TypedDict):
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""
    tiers: list[Tier]
    """By name."""


_Usage = TypedDict("_Usage", {
    "from": "str",
})


class Usage(_Usage):
    at: str
    """The time of the usage."""
    blocked: NotRequired[bool]
    """The user is blocked, so no time is free; absent if the user is not blocked."""
    free: list[Stretch]
    """Times in which a message would be accepted."""
    more: NotRequired[bool]
    """There are more messages than listed in sends."""
    opted_out: NotRequired[bool]
    """The user does not want the category, so no time is free; absent if the user wants it."""
    quiet: NotRequired[list[Stretch]]
    """Quiet hours in the timeline; absent if there are none."""
    rules: list[RuleUsage]
    """How full each rule is."""
    sends: list[Conflict]
    """Sent and scheduled messages, by time."""
    until: str
    """The end of the timeline, which is not included."""
    user: str
    """The user's name."""


class UserEntry(TypedDict):
    dry_run: NotRequired[str]
    """The token of the dry run that died before it removed this copy; absent for real data."""
    entry: dict[str, object]
    """The entry, as in that list."""
    list: str
    """The list of the entry."""
    outcome: Literal["entry"]
    """entry"""


class UserErasure(TypedDict):
    cancelled: int
    """Of these, messages that were not sent yet."""
    entries: int
    """Entries that were removed from lists of all users."""
    keys: int
    """Keys that were removed from the store."""
    messages: int
    """Messages with a record."""
    outcome: Literal["erased"]
    """erased"""
    running: int
    """Tasks that a worker is running, or was running when it died. The queue has the user's
    name until they end. If there are any, erase the user again in a few minutes.
    """
    tasks: int
    """Tasks that were removed from the queue."""
    user: str
    """The user's name."""


class UserExport(TypedDict):
    entries: int
    """The number of entries in the lines before."""
    exported_at: str
    """When it was read, by the clock of this server."""
    outcome: Literal["exported"]
    """exported"""
    user: str
    """The user's name."""


class UserProgress(TypedDict):
    done: int
    """Keys of the store that were checked."""
    outcome: Literal["progress"]
    """progress"""
    total: int
    """The total number of keys, about."""


class UserQuota(TypedDict):
    day: str
    """The day, such as 2026-11-22."""
    limit: int
    """Messages that the daily rule allows."""
    threshold: int
    """The percentage of limit that was reached."""
    used: int
    """Messages of that day when the threshold was reached."""
    user: str
    """The user's name."""


class UserSettings(TypedDict):
    best_hours: NotRequired[list[int]]
    """The 168 weights of the hours of the week, from Monday 00:00 on; absent for none."""
    blocked: bool
    """Whether no more messages are accepted for the user."""
    categories: dict[str, list[str] | None]
    """The user's own rules of categories, by name. They replace the rules of the category with
    the same windows; others apply beside those.
    """
    contact: str
    """The contact that is alerted when a daily rule is full; empty for none."""
    do_not_disturb_until: NotRequired[str]
    """The time before which nothing is sent to the user, except messages of exempt categories;
    absent for none.
    """
    effective: EffectiveRules | None
    """The rules that apply to the user. null if the policy does not exist: then no message is
    accepted.
    """
    limits: list[str]
    """Rules that replace the policy's rules with the same windows."""
    opt_out: list[str]
    """Categories that the user does not want; all stands for everything but exempt categories.
    Their messages are refused, and scheduled ones are dropped at their send time.
    """
    policy: str
    """The name of the user's policy; empty for default."""
    quiet_hours: list[str]
    """The user's own quiet hours, beside those of the policy."""
    scheduled: NotRequired[FollowThrough]
    """What becomes of scheduled messages; absent if no change asked for it and none is
    affected.
    """
    time_zone: str
    """The user's IANA time zone; empty for the policy's."""
    user: str
    """The user's name."""


class Users(TypedDict):
    next_cursor: NotRequired[str]
    """The cursor of the next page; absent if there are no more. The next page may be empty."""
    users: list[ListedUser]
    """In the order of the store, which does not change."""


_Violation = TypedDict("_Violation", {
    "from": "NotRequired[str]",
})


class Violation(_Violation):
    account_limit: NotRequired[int]
    """How many of these one account may have by the policy's account_share. Set if the
    message's account has reached it.
    """
    category: NotRequired[str]
    """The category whose messages the rule counts; absent if it counts all messages."""
    conflicts: list[Conflict]
    """Messages in the way, by time, at most 10."""
    conflicts_total: int
    """How many messages are in the way."""
    kind: Literal["sliding", "calendar"]
    """sliding: counts in every window of the length. calendar: counts in natural periods such
    as days.
    """
    limit: int
    """How many messages it allows in its window."""
    rule: str
    """The rule, as in the policy."""
    until: NotRequired[str]
    """The end, which is not included."""
    window_seconds: NotRequired[int]
    """The length of a sliding rule's window."""


_WindowDraft = TypedDict("_WindowDraft", {
    "from": "NotRequired[str | datetime | None | LocalTime]",
})


class WindowDraft(_WindowDraft):
    prefer: NotRequired[Literal["earliest", "latest", "nearest", "spread", "best", ""] | None]
    """Which free time of the window the message gets. earliest, the default: the first one.
    latest: the last one. nearest: the one nearest to send_at; of two, the earlier. spread:
    the first one from a time on that is drawn over the whole window by account, user and id,
    else the first one, so that many messages fill a window evenly. best: as spread, but
    drawn by the best_hours of the user.
    """
    until: str | datetime | LocalTime
    """The end, which is not included: RFC 3339, or a local time. The expiry of the message and
    the latest send time that is accepted end the window, too.
    """


class WindowEnd(TypedDict):
    code: str
    """Why it is not free."""
    do_not_disturb_until: NotRequired[str]
    """The time before which the user is not disturbed, with the code do_not_disturb."""
    quiet_hours: NotRequired[QuietHours]
    """The quiet hours that contain it, with the code quiet_hours."""
    send_at: str
    """The last time of the window at which the message could be sent."""
    violations: NotRequired[list[Violation]]
    """Every rule that a message at that time would break."""


class Worker(TypedDict):
    active: int
    """Running tasks. A task may have several messages."""
    host: str
    """The name of its machine."""
    pid: int
    """The id of its process."""
    started_at: str
    """When it started."""
    status: str
    """active, or stopped while it shuts down.

    scheduled, postponed, moved, sending, delivered, dropped, failed, uncertain, cancelled.
    """


class VersionedPolicy(Policy):
    """The same with its version."""

    etag: str
    """The version in quotes, for if_match."""


class VersionedPolicyChange(PolicyChange):
    """The same with its version."""

    etag: str
    """The version in quotes, for if_match."""


class VersionedUserSettings(UserSettings):
    """The same with its version."""

    etag: str
    """The version in quotes, for if_match."""
