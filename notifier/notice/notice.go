// Package notice says what a notice to a contact consists of, as it is posted. It has only
// values: packages that document notices need not know who delivers them.
package notice

// Kind says what a Notice is about.
type Kind string

// The kinds of notices.
const (
	KindAccountQuota    Kind = "account_quota"     // an account's daily quota reached a threshold
	KindUserQuota       Kind = "user_quota"        // a user's daily rule reached a threshold
	KindUserQuotaDigest Kind = "user_quota_digest" // users of a policy whose daily rule reached a threshold
	KindDailyReport     Kind = "daily_report"      // what became of an account's messages on a day
	KindEventLimit      Kind = "event_limit"       // a key reached a threshold of a limit of an event
	KindCallbackChanged Kind = "callback_changed"  // where the events of an account are posted was changed
)

// What was done with a callback, in the field Change.
const (
	CallbackSet     = "set"
	CallbackSecret  = "secret" // it has a new one
	CallbackRemoved = "removed"
)

// Kinds returns every Kind, in the order above.
func Kinds() []Kind {
	return []Kind{KindAccountQuota, KindUserQuota, KindUserQuotaDigest, KindDailyReport, KindEventLimit, KindCallbackChanged}
}

// Notice is a message to a contact: a quota that was reached, or a report. Kind decides
// which fields are set.
type Notice struct {
	// ID is unique to the notice and the same at every attempt.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Subject is the account, the user or, in a digest, the policy. Of an event it is the
	// event and the key: "submit/acme".
	Subject string `json:"subject"`
	// Threshold is the percentage that was reached; Used and Limit count messages of
	// Day, or what Event counts from Since to Until. They are zero in a digest or a
	// report.
	Threshold int   `json:"threshold,omitempty"`
	Used      int64 `json:"used,omitempty"`
	Limit     int64 `json:"limit,omitempty"`
	// Day is the day that counts, as 2006-01-02, in TimeZone, an IANA name; "" is UTC.
	Day      string `json:"day,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
	// Rule is the daily rule that counts, such as 10/calendar_day, of Policy. Both are
	// empty for an account. Of an event it is the limit, such as 100/calendar_hour.
	Rule   string `json:"rule,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Event is the event whose limit counts, and Key whose calls it counts. Since and
	// Until are the begin and the end of its period, RFC 3339 in TimeZone. They are set
	// only in an alert of an event, and Since where a callback was changed.
	Event string `json:"event,omitempty"`
	Key   string `json:"key,omitempty"`
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
	// Users are the users of a digest; More counts those left out.
	Users []UserQuota `json:"users,omitempty"`
	More  int         `json:"more,omitempty"`
	// Change is what was done with a callback: CallbackSet, CallbackSecret or CallbackRemoved.
	// Host is the host of its URL, empty if it was removed.
	Change string `json:"change,omitempty"`
	Host   string `json:"host,omitempty"`
	// Report is set only for a daily report.
	Report *Report `json:"report,omitempty"`
}

// UserQuota is one line of a digest; its fields are as in a Notice.
type UserQuota struct {
	User      string `json:"user"`
	Threshold int    `json:"threshold"`
	Used      int64  `json:"used"`
	Limit     int64  `json:"limit"`
	Day       string `json:"day"`
}

// Report has the numbers of an account's messages on one day: what happened on that day, to
// messages of whatever day. Accepted and Retried together are the sum of Sent, Dropped,
// Failed, Cancelled and WaitingChange.
type Report struct {
	Sent      int64 `json:"sent"`      // including late ones
	Dropped   int64 `json:"dropped"`   // expired
	Failed    int64 `json:"failed"`    // given up: dead letters
	Cancelled int64 `json:"cancelled"` // also with the erasure of a user
	Late      int64 `json:"late"`      // sent after the tolerance
	Accepted  int64 `json:"accepted"`  // submits that were accepted
	Retried   int64 `json:"retried"`   // dead letters that wait again
	// WaitingChange is how many more messages waited at the end of the day than at its
	// begin. It is negative if fewer did.
	WaitingChange int64 `json:"waiting_change"`
	// Refused counts refused submits by rule, or by code if it was not a rule.
	Refused map[string]int64 `json:"refused,omitempty"`
}
