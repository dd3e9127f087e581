package message

import "github.com/sendlimit/sendlimiter/sendlimit/fault"

// NoticeFailed is the status of a notice that was given up.
const NoticeFailed = "failed"

// DeadAlert is an alert or a report that could not be delivered to its contact.
type DeadAlert struct {
	Alert     string `json:"alert" doc:"Its id."`
	Kind      string `json:"kind" doc:"account_quota, user_quota, user_quota_digest, daily_report, event_limit or callback_changed."`
	Subject   string `json:"subject" doc:"What it is about: the account or the user; of a digest, the policy; of an event, the event and the key, such as submit/acme."`
	Since     Time   `json:"since" doc:"The start of the day that it is about; of a digest, of the hour; of an event, of the period of its limit."`
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

// AlertDone is the answer to a dead alert that was retried or removed.
type AlertDone struct {
	Outcome string `json:"outcome" doc:"What was done."`
	Alert   string `json:"alert" doc:"The alert's id."`
}

// DeadRetry is the answer to a request that sent dead letters again.
type DeadRetry struct {
	Outcomes   []Outcome `json:"outcomes" doc:"What became of each, the oldest first: retried, or refused and why."`
	NextCursor string    `json:"next_cursor,omitempty" doc:"The cursor of the next request; absent if there are no more. The next request may find none."`
}

// DeadPurge is the answer to a request that removed old dead letters or alerts.
type DeadPurge struct {
	Purged int  `json:"purged" doc:"How many this request removed."`
	More   bool `json:"more" doc:"There may be more of that age: send the request again."`
}
