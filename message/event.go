package message

import "github.com/sendlimit/sendlimiter/sendlimit/policy"

// EventPrefix begins the type of each event.
const EventPrefix = "sendlimit.message."

// Event is a change of a message, as a CloudEvent 1.0. Source and ID together name it.
type Event struct {
	SpecVersion     string    `json:"specversion" doc:"1.0, the version of CloudEvents."`
	ID              string    `json:"id" doc:"The event's id, unique in its source. Later events have greater ones."`
	Source          string    `json:"source" doc:"The stream that it is from: /v1/accounts/acme/events, or /v1/events for those of all accounts."`
	Type            string    `json:"type" doc:"sendlimit.message. and what happened: delivered, postponed, dropped, failed, uncertain, moved or cancelled."`
	Subject         string    `json:"subject" doc:"The message's id."`
	Time            Time      `json:"time" doc:"When it happened."`
	DataContentType string    `json:"datacontenttype" doc:"application/json"`
	Data            EventData `json:"data" doc:"The message."`
}

// EventData says what an event is about.
type EventData struct {
	Account      string            `json:"account,omitempty" doc:"The account that was charged for the message; absent without accounts."`
	User         string            `json:"user" doc:"The user's name."`
	ID           string            `json:"id" doc:"The message's id."`
	SendAt       Time              `json:"send_at,omitzero" doc:"The present or last send time."`
	FormerSendAt Time              `json:"former_send_at,omitzero" doc:"The send time before; only if the message was moved or postponed."`
	Reason       string            `json:"reason,omitempty" doc:"Why the message was dropped, given up or postponed; as the reason of a status."`
	Attempt      int               `json:"attempt,omitempty" doc:"The number of delivery attempts."`
	ProviderID   string            `json:"provider_id,omitempty" doc:"The provider's id of the message."`
	Campaign     string            `json:"campaign,omitempty" doc:"Its campaign."`
	Metadata     map[string]string `json:"metadata,omitempty" doc:"Its metadata."`
}

// EventReason returns the reason of an event of the log as a status tells it.
func EventReason(stored string) string {
	if late, ok := policy.ReadLate(stored); ok {
		return LateReason(late)
	}
	return stored
}

// Events is a page of events.
type Events struct {
	Events []Event `json:"events" doc:"The oldest first."`
	Gap    bool    `json:"gap,omitempty" doc:"The event to read after is kept no more, so events after it may be missing."`
	Next   string  `json:"next,omitempty" doc:"The id to read on after; absent if there is no event at all."`
}

// Callback says where an account's events are posted, and how far that is.
type Callback struct {
	Account     string `json:"account" doc:"The account's name."`
	URL         string `json:"url" doc:"Where its events are posted."`
	Secret      string `json:"secret,omitempty" doc:"The secret that signs, which is shown only once: in the answer to the request that made it."`
	Waiting     int    `json:"waiting" doc:"Events that are not posted yet."`
	Dead        int    `json:"dead" doc:"Dead events: those that the callback did not accept for too long."`
	Lost        int    `json:"lost,omitempty" doc:"Events that were removed before they were posted, as too many waited or they were too old."`
	Attempts    int    `json:"attempts,omitempty" doc:"Requests that failed since the last success."`
	Failing     Time   `json:"failing_since,omitzero" doc:"Since when requests fail; absent if the last one succeeded."`
	SucceededAt Time   `json:"last_success_at,omitzero" doc:"When a request last succeeded; absent for never."`
	FailedAt    Time   `json:"last_failure_at,omitzero" doc:"When a request last failed; absent for never."`
	Reason      string `json:"last_failure,omitempty" doc:"Why that one failed, such as unavailable, timeout, rejected, gone, or misaddressed for an internal address."`
	NextAt      Time   `json:"next_try_at,omitzero" doc:"When the next request is made; absent unless requests fail."`
}

// CallbackDraft is the request to set a callback.
type CallbackDraft struct {
	URL    string `json:"url" doc:"An https URL with a host, without user, password and fragment."`
	Secret string `json:"secret,omitempty" doc:"The secret that signs: whsec_ and 24 to 64 bytes in base64. By default the present one stays, and the first one is made."`
}

// SecretRotation is the request to replace the secret of a callback by a new one.
type SecretRotation struct {
	Overlap string `json:"overlap,omitempty" doc:"How long the old secret signs too, such as 1h or 7d: by default 1d, at most 366d. 0 ends it at once."`
}

// DeadEvent is an event that a callback did not accept for too long.
type DeadEvent struct {
	ID     string `json:"id" doc:"Its id among the dead events."`
	Event  Event  `json:"event" doc:"The event."`
	Reason string `json:"reason" doc:"Why the last request failed."`
	DeadAt Time   `json:"dead_at" doc:"When it was given up."`
}

// DeadEvents is a page of dead events.
type DeadEvents struct {
	DeadEvents []DeadEvent `json:"dead_events" doc:"The oldest first."`
	NextCursor string      `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// DeadEventsRetry is the answer to dead events that were retried.
type DeadEventsRetry struct {
	Retried int `json:"retried" doc:"How many are posted again."`
	Left    int `json:"left" doc:"How many dead events there still are."`
}

// DeadEventsPurge is the answer to dead events that were removed.
type DeadEventsPurge struct {
	Purged int `json:"purged" doc:"How many were removed."`
}
