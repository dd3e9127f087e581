package message

import "github.com/sendlimit/sendlimiter/sendlimit/fault"

// NoticeFailed is the status of an alert that was given up.
const NoticeFailed = "failed"

// DeadAlert is an alert or a report that could not be delivered to its contact.
type DeadAlert struct {
	Alert     string `json:"alert" doc:"Its id."`
	Kind      string `json:"kind" doc:"account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed or keys_changed."`
	Subject   string `json:"subject" doc:"The account or the user; for a digest, the policy; for an event, the event and the key, such as submit/acme."`
	Since     Time   `json:"since" doc:"The start of its day; for a digest, of its hour; for an event, of the period of the limit."`
	Threshold int    `json:"threshold,omitempty" doc:"The percentage of limit that was reached; absent for digests and reports."`
	Used      int64  `json:"used,omitempty" doc:"Messages of that day, or calls of the event; absent for digests and reports."`
	Limit     int64  `json:"limit,omitempty" doc:"Messages that the day's quota or rule allows, or calls that the event's limit allows; absent for digests and reports."`
	Status    string `json:"status" doc:"failed."`
	Reason    string `json:"reason" doc:"Why the last delivery failed."`
	Attempts  int    `json:"attempts" doc:"The number of delivery attempts."`
	EndedAt   Time   `json:"ended_at" doc:"When it was given up."`
}

// DeadAlerts is a page of alerts and reports that could not be delivered.
type DeadAlerts struct {
	DeadAlerts []DeadAlert `json:"dead_alerts" doc:"By the time they ended, the oldest first."`
	NextCursor string      `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// AlertOutcome is the answer to a request about a dead alert, see Outcome.
type AlertOutcome struct {
	Outcome string     `json:"outcome"`
	Code    fault.Code `json:"code,omitempty"`
	Field   string     `json:"field,omitempty"`
	Alert   string     `json:"alert"`
	Detail  string     `json:"detail,omitempty"`
}

// AlertDone is the answer to a request to retry or remove a dead alert.
type AlertDone struct {
	Outcome string `json:"outcome" doc:"What was done."`
	Alert   string `json:"alert" doc:"The alert's id."`
}

// DeadRetry is the answer to a request to retry dead letters.
type DeadRetry struct {
	Outcomes   []Outcome `json:"outcomes" doc:"The outcome of each, the oldest first: retried, or refused and why."`
	NextCursor string    `json:"next_cursor,omitempty" doc:"The cursor of the next request; absent if there are no more. The next request may retry none."`
}

// DeadPurge is the answer to a request to remove old dead letters or alerts.
type DeadPurge struct {
	Purged int  `json:"purged" doc:"The number that this request removed."`
	More   bool `json:"more" doc:"There may be more: send the request again."`
}
