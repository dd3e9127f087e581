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

// NoticeKinds returns every NoticeKind, in the order above.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{NoticeAccountQuota, NoticeUserQuota, NoticeUserQuotaDigest, NoticeDailyReport}
}

// Notice is a message to a contact: a quota that was reached, or a report. Kind decides
// which fields are set.
type Notice struct {
	// ID is unique to the notice and the same at every attempt.
	ID   string     `json:"id"`
	Kind NoticeKind `json:"kind"`
	// Subject is the account, the user or, in a digest, the policy.
	Subject string `json:"subject"`
	// Threshold is the percentage that was reached; Used and Limit count messages of
	// Day. They are zero in a digest or a report.
	Threshold int   `json:"threshold,omitempty"`
	Used      int64 `json:"used,omitempty"`
	Limit     int64 `json:"limit,omitempty"`
	// Day is the day that counts, as 2006-01-02, in TimeZone, an IANA name; "" is UTC.
	Day      string `json:"day,omitempty"`
	TimeZone string `json:"time_zone,omitempty"`
	// Rule is the daily rule that counts, such as 10/calendar_day, of Policy. Both are
	// empty for an account.
	Rule   string `json:"rule,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Users are the users of a digest; More counts those left out.
	Users []UserQuota `json:"users,omitempty"`
	More  int         `json:"more,omitempty"`
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

// Announcer takes notices to contacts, with the promises of a Notifier: it tries once, is
// safe for concurrent use, and its errors show neither the contact nor the notice.
//
// A contact is an e-mail address without a name, or an https: URL. Every attempt of a
// notice has the same Message-ID or Idempotency-Key, so that the receiver can recognize a
// second copy.
type Announcer interface {
	Announce(ctx context.Context, to string, n Notice) Result
}

// ErrNoChannel is wrapped by a Result's Err if no channel is configured for this kind of
// contact, such as no mail server. The Result is a Retry. It need not count as an attempt.
var ErrNoChannel = errors.New("no channel is set up for contacts of this kind")

// NoticeKey returns the idempotency key of a Notice, derived from its ID: 32 characters of
// 0-9 a-f, the same in every version.
func NoticeKey(id string) string {
	sum := sha256.Sum256([]byte("notice\x00" + id))
	return hex.EncodeToString(sum[:16])
}
