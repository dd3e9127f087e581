package notifier

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/sendlimit/sendlimiter/notifier/notice"
)

// The parts of a notice, see package notice.
type (
	// Notice is a message to a contact.
	Notice = notice.Notice
	// NoticeKind is the kind of a Notice.
	NoticeKind = notice.Kind
	// UserQuota is one line of a digest.
	UserQuota = notice.UserQuota
	// Report has the figures of an account's day.
	Report = notice.Report
)

// The kinds of notices.
const (
	NoticeAccountQuota    = notice.KindAccountQuota
	NoticeUserQuota       = notice.KindUserQuota
	NoticeUserQuotaDigest = notice.KindUserQuotaDigest
	NoticeDailyReport     = notice.KindDailyReport
	NoticeEventLimit      = notice.KindEventLimit
	NoticeCallbackChanged = notice.KindCallbackChanged
	NoticeKeysChanged     = notice.KindKeysChanged
)

// NoticeKinds returns all kinds, in the order above.
func NoticeKinds() []NoticeKind { return notice.Kinds() }

// Announcer delivers notices to contacts, with the promises of a Notifier: it tries once, is safe
// for concurrent use, and its errors show neither the contact nor the notice.
//
// A contact is an e-mail address without a name, or an https: URL. Every attempt of a notice has
// the same Message-ID or Idempotency-Key, so that the receiver can recognize a second copy.
type Announcer interface {
	Announce(ctx context.Context, to string, n Notice) Result
}

// ErrNoChannel is wrapped by a Result's Err if no channel for this kind of contact is configured,
// such as a mail server. The Result is a Retry, which need not count as an attempt.
var ErrNoChannel = errors.New("no channel is set up for contacts of this kind")

// NoticeKey returns the idempotency key of a Notice, derived from its ID: 32 characters of 0-9 a-f,
// the same in every version.
func NoticeKey(id string) string {
	sum := sha256.Sum256([]byte("notice\x00" + id))
	return hex.EncodeToString(sum[:16])
}
