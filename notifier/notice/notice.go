// Package notice defines notices to contacts as they are posted. It has only values, so that
// packages which document notices need not import the channels.
package notice

// Kind is the kind of a Notice.
type Kind string

// The kinds of notices.
const (
	KindAccountQuota    Kind = "account_quota"     // an account's daily quota reached a threshold
	KindUserQuota       Kind = "user_quota"        // a user's daily rule reached a threshold
	KindUserQuotaDigest Kind = "user_quota_digest" // users of a policy whose daily rule reached a threshold
	KindDailyReport     Kind = "daily_report"      // the messages of an account's day
	KindEventLimit      Kind = "event_limit"       // a key reached a threshold of an event's limit
	KindCallbackChanged Kind = "callback_changed"  // the callback of an account was changed
	KindKeysChanged     Kind = "keys_changed"      // a key of an account was made, replaced or removed
)

// Values of Notice.Change.
const (
	CallbackSet     = "set"
	CallbackSecret  = "secret" // it has a new secret
	CallbackRemoved = "removed"
	KeyAdded        = "added"
	KeyReplaced     = "replaced"
	KeyRemoved      = "removed"
)

// Kinds returns all kinds, in the order above.
func Kinds() []Kind {
	return []Kind{KindAccountQuota, KindUserQuota, KindUserQuotaDigest, KindDailyReport, KindEventLimit, KindCallbackChanged, KindKeysChanged}
}

// Notice is an alert or a report to a contact. Kind decides which fields are set.
type Notice struct {
	ID        string      `json:"id" doc:"Its id, the same at every attempt."`
	Kind      Kind        `json:"kind" doc:"account_quota, user_quota, user_quota_digest, daily_report, event_limit, callback_changed or keys_changed."`
	Subject   string      `json:"subject" doc:"The account or the user; in a digest, the policy; for an event, the event and the key, such as submit/acme."`
	Threshold int         `json:"threshold,omitempty" doc:"The percentage of limit that was reached. Only in alerts."`
	Used      int64       `json:"used,omitempty" doc:"Messages of that day, or calls of the event, when the threshold was reached. Only in alerts."`
	Limit     int64       `json:"limit,omitempty" doc:"Messages that the day's quota or rule allows, or calls that the event's limit allows. Only in alerts."`
	Day       string      `json:"day,omitempty" doc:"The day, such as 2026-11-22, in time_zone."`
	TimeZone  string      `json:"time_zone,omitempty" doc:"The IANA zone of the day; absent for UTC."`
	Rule      string      `json:"rule,omitempty" doc:"The user's daily rule, such as 10/calendar_day; for an event, its limit, such as 100/calendar_hour."`
	Policy    string      `json:"policy,omitempty" doc:"The policy of that rule."`
	Event     string      `json:"event,omitempty" doc:"The event with the limit. Only with the kind event_limit."`
	Key       string      `json:"key,omitempty" doc:"The key whose calls are counted: the account, for events of the API. With keys_changed, the id of the API key that was replaced or removed. Only with these kinds."`
	Since     string      `json:"since,omitempty" doc:"When the period of the event's limit began, RFC 3339 in time_zone; with callback_changed and keys_changed, the time of the change. Only with these kinds."`
	Until     string      `json:"until,omitempty" doc:"When that period ends. Only with the kind event_limit."`
	Users     []UserQuota `json:"users,omitempty" doc:"The users of a digest."`
	More      int         `json:"more,omitempty" doc:"Users of a digest beyond users."`
	Change    string      `json:"change,omitempty" doc:"The change of the account's callback: set, secret or removed; or of a key: added, replaced or removed. Only with the kinds callback_changed and keys_changed."`
	Scopes    []string    `json:"scopes,omitempty" doc:"What the key allows that was added. Only with the kind keys_changed."`
	Host      string      `json:"host,omitempty" doc:"The host of the callback after the change. Only with the kind callback_changed."`
	Report    *Report     `json:"report,omitempty" doc:"The figures of a daily report."`
}

// UserQuota is one line of a digest. Its fields are as in a Notice.
type UserQuota struct {
	User      string `json:"user" doc:"The user's name."`
	Threshold int    `json:"threshold" doc:"The percentage of limit that was reached."`
	Used      int64  `json:"used" doc:"Messages of that day when the threshold was reached."`
	Limit     int64  `json:"limit" doc:"Messages that the daily rule allows."`
	Day       string `json:"day" doc:"The day, such as 2026-11-22."`
}

// Report has the figures of an account's day: the events of that day, for messages of any day.
// Accepted and Retried together are the sum of Sent, Dropped, Failed, Cancelled and WaitingChange.
type Report struct {
	Sent          int64            `json:"sent" doc:"Messages sent on that day, late ones included."`
	Dropped       int64            `json:"dropped" doc:"Messages dropped on that day, because they expired."`
	Failed        int64            `json:"failed" doc:"Messages given up on that day, because the provider refused them or they may have arrived. They are dead letters."`
	Cancelled     int64            `json:"cancelled" doc:"Messages cancelled on that day."`
	Late          int64            `json:"late" doc:"Messages sent after the tolerance, which sent includes."`
	Accepted      int64            `json:"accepted" doc:"Submits accepted on that day, for any day."`
	Retried       int64            `json:"retried" doc:"Dead letters retried on that day."`
	WaitingChange int64            `json:"waiting_change" doc:"How many more messages waited at the end of the day than at its begin, negative if fewer. accepted and retried together are the sum of sent, dropped, failed, cancelled and waiting_change."`
	Refused       map[string]int64 `json:"refused,omitempty" doc:"Submits refused on that day, by rule, or by code if no rule refused them."`
}
