package notifier

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// NoticeKind says what a Notice is about.
type NoticeKind string

// The kinds of notices.
const (
	NoticeAccountQuota    NoticeKind = "account_quota"     // an account's daily quota reached a threshold
	NoticeUserQuota       NoticeKind = "user_quota"        // a user's daily rule reached a threshold
	NoticeUserQuotaDigest NoticeKind = "user_quota_digest" // users of a policy whose daily rule reached a threshold
	NoticeDailyReport     NoticeKind = "daily_report"      // what became of an account's messages on a day
)

// NoticeKinds returns every NoticeKind there is, in the order above.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{NoticeAccountQuota, NoticeUserQuota, NoticeUserQuotaDigest, NoticeDailyReport}
}

// Notice is what is said to a contact rather than pushed to a user: a quota
// reached, or a report. Which fields are filled depends on its Kind.
type Notice struct {
	// ID is the same at every try of one notice and differs between notices.
	ID   string     `json:"id"`
	Kind NoticeKind `json:"kind"`
	// Subject is the account, the user, or the policy of a digest.
	Subject string `json:"subject"`
	// Threshold is the percentage reached; Used and Limit count messages of the
	// Day. Zero where a digest or a report has its own numbers.
	Threshold int   `json:"threshold,omitempty"`
	Used      int64 `json:"used,omitempty"`
	Limit     int64 `json:"limit,omitempty"`
	// Day is the natural day that counts, as 2006-01-02, in the TimeZone, an IANA
	// name of which "" is UTC.
	Day      string `json:"day,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
	// Rule is the daily rule that counts, such as 10/calendar_day, and Policy
	// where it stands; both empty for an account.
	Rule   string `json:"rule,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Users are those of a digest, and More how many of them were left out.
	Users []UserQuota `json:"users,omitempty"`
	More  int         `json:"more,omitempty"`
	// Report is that of a daily report; nil for every other kind.
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

// Report is what became of an account's messages on one day.
type Report struct {
	Sent     int64 `json:"sent"`     // late ones included
	Dropped  int64 `json:"dropped"`  // outlived their expiry
	Late     int64 `json:"late"`     // sent past the tolerance
	Accepted int64 `json:"accepted"` // submits that were accepted
	// Refused counts submits by what refused them: a rule, or the code of the
	// refusal where it was none.
	Refused map[string]int64 `json:"refused,omitempty"`
}

// Announcer takes notices to contacts, as a Notifier takes notifications to
// users, and with the same promises: it tries once, is safe for concurrent use,
// and shows neither the contact nor what the notice says in an error.
//
// A contact is a bare e-mail address or an https: URL. Every try of a notice
// carries what lets its receiver recognize the second copy: the same Message-ID,
// or the same Idempotency-Key.
type Announcer interface {
	Announce(ctx context.Context, to string, n Notice) Result
}

// ErrNoChannel is in the chain of a Result's Err when nothing is set up for
// contacts of this kind: no mail server, say. The Result is a Retry, and no try
// was made, so that it need not count as one.
var ErrNoChannel = errors.New("no channel is set up for contacts of this kind")

// NoticeKey derives the idempotency key of a Notice from its ID: 32 characters
// of 0-9 a-f, the same in every version.
func NoticeKey(id string) string {
	sum := sha256.Sum256([]byte("notice\x00" + id))
	return hex.EncodeToString(sum[:16])
}
