package message

import "github.com/sendlimit/sendlimiter/sendlimit/policy"

// EventPrefix begins the type of every event.
const EventPrefix = "sendlimit.message."

// Event is a change of a message, as a CloudEvent 1.0. Source and ID together are unique.
type Event struct {
	SpecVersion     string    `json:"specversion" doc:"1.0, the version of CloudEvents."`
	ID              string    `json:"id" doc:"The event's id, unique in its source. Ids ascend with time."`
	Source          string    `json:"source" doc:"The stream of the event: /v1/accounts/acme/events, or /v1/events for those of all accounts."`
	Type            string    `json:"type" doc:"sendlimit.message. and the change: delivered, postponed, dropped, failed, uncertain, moved, replaced or cancelled."`
	Subject         string    `json:"subject" doc:"The message's id."`
	Time            Time      `json:"time" doc:"When it happened."`
	DataContentType string    `json:"datacontenttype" doc:"application/json"`
	Data            EventData `json:"data" doc:"The message."`
}

// EventData has the message of an event.
type EventData struct {
	Account      string            `json:"account,omitempty" doc:"The account that was charged for the message; absent without accounts."`
	User         string            `json:"user" doc:"The user's name."`
	ID           string            `json:"id" doc:"The message's id."`
	SendAt       Time              `json:"send_at,omitzero" doc:"The current or last send time."`
	FormerSendAt Time              `json:"former_send_at,omitzero" doc:"The previous send time, if the message was moved, replaced or postponed."`
	RequestedAt  Time              `json:"requested_at,omitzero" doc:"The send time that was requested, if it differs from send_at."`
	Local        *ResolvedLocal    `json:"local,omitempty" doc:"The local time that was asked for, and how it was read."`
	Window       *ResolvedWindow   `json:"window,omitempty" doc:"The window that was asked for. Then there is no requested_at."`
	Reason       string            `json:"reason,omitempty" doc:"Why the message was dropped, given up or postponed, as in the reason of a status; or settings_changed for a move by changed settings of its user."`
	Attempt      int               `json:"attempt,omitempty" doc:"The number of delivery attempts."`
	ProviderID   string            `json:"provider_id,omitempty" doc:"The provider's id of the message."`
	Campaign     string            `json:"campaign,omitempty" doc:"Its campaign."`
	Metadata     map[string]string `json:"metadata,omitempty" doc:"Its metadata."`
}

// EventReason converts the reason of a stored event to that of a status.
func EventReason(stored string) string {
	if late, ok := policy.ReadLate(stored); ok {
		return LateReason(late)
	}
	return stored
}

// Events is a page of events.
type Events struct {
	Events []Event `json:"events" doc:"The oldest first."`
	Gap    bool    `json:"gap,omitempty" doc:"The event to read after was removed, so events after it may be missing."`
	Next   string  `json:"next,omitempty" doc:"The id to read after next; absent if there are no events."`
}

// Callback describes the callback of an account.
type Callback struct {
	Account     string `json:"account" doc:"The account's name."`
	URL         string `json:"url" doc:"Where its events are posted."`
	Secret      string `json:"secret,omitempty" doc:"The signing secret. Only the answer to the request that created it shows it."`
	Waiting     int    `json:"waiting" doc:"Events that were not posted yet."`
	Dead        int    `json:"dead" doc:"Dead events, which the callback did not accept in time."`
	Lost        int    `json:"lost,omitempty" doc:"Events that were removed before they were posted, because too many waited or they were too old."`
	Attempts    int    `json:"attempts,omitempty" doc:"Requests that failed since the last success."`
	Failing     Time   `json:"failing_since,omitzero" doc:"Since when requests fail; absent if the last one succeeded."`
	SucceededAt Time   `json:"last_success_at,omitzero" doc:"When a request last succeeded; absent if never."`
	FailedAt    Time   `json:"last_failure_at,omitzero" doc:"When a request last failed; absent if never."`
	Reason      string `json:"last_failure,omitempty" doc:"Why it failed, such as unavailable, timeout, rejected, gone, or misaddressed for an internal address."`
	NextAt      Time   `json:"next_try_at,omitzero" doc:"When the next request is made; absent unless requests fail."`
}

// CallbackDraft is the request to set a callback.
type CallbackDraft struct {
	URL    string `json:"url" doc:"An https URL with a host, without user, password and fragment."`
	Secret string `json:"secret,omitempty" doc:"The signing secret: whsec_ and 24 to 64 bytes in base64. By default the current secret stays, and the first one is generated."`
}

// SecretRotation is the request to replace the secret of a callback.
type SecretRotation struct {
	Overlap string `json:"overlap,omitempty" doc:"How long the old secret signs too, such as 1h or 7d: by default 1d, at most 366d. 0 ends it at once."`
}

// DeadEvent is an event that a callback did not accept in time.
type DeadEvent struct {
	ID     string `json:"id" doc:"The id of the dead event."`
	Event  Event  `json:"event" doc:"The event."`
	Reason string `json:"reason" doc:"Why the last request failed."`
	DeadAt Time   `json:"dead_at" doc:"When it was given up."`
}

// DeadEvents is a page of dead events.
type DeadEvents struct {
	DeadEvents []DeadEvent `json:"dead_events" doc:"The oldest first."`
	NextCursor string      `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// DeadEventsRetry is the answer to a request to retry dead events.
type DeadEventsRetry struct {
	Retried int `json:"retried" doc:"The number of events that are posted again."`
	Left    int `json:"left" doc:"The number of remaining dead events."`
}

// DeadEventsPurge is the answer to a request to remove dead events.
type DeadEventsPurge struct {
	Purged int `json:"purged" doc:"The number of removed events."`
}
