package email

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notice"
)

// Sample returns an invented notice of a kind, for the preview of a template. subject is the
// account, the user, the policy, or the key of an event; "" means an invented one. It returns false
// for an unknown kind.
func Sample(kind notifier.NoticeKind, subject string) (notifier.Notice, bool) {
	const day, dayStart = "2026-11-22", "1795305600000"
	n := notifier.Notice{Kind: kind, Subject: subject, Day: day}
	if subject == "" {
		n.Subject = "acme"
	}
	switch kind {
	case notifier.NoticeAccountQuota:
		n.Threshold, n.Used, n.Limit = 80, 8_000, 10_000
		n.TimeZone = "Europe/Berlin"
		n.ID = fmt.Sprintf("%s/%s/%d/%s", kind, dayStart, n.Threshold, n.Subject)
	case notifier.NoticeUserQuota:
		if subject == "" {
			n.Subject = "alice"
		}
		n.Threshold, n.Used, n.Limit = 100, 10, 10
		n.Rule, n.Policy = "10/calendar_day", "default"
		n.ID = fmt.Sprintf("%s/%s/%d/%s", kind, dayStart, n.Threshold, n.Subject)
	case notifier.NoticeUserQuotaDigest:
		if subject == "" {
			n.Subject = "default"
		}
		n.Policy = n.Subject
		n.Users = []notifier.UserQuota{
			{User: "alice", Threshold: 100, Used: 10, Limit: 10, Day: day},
			{User: "bob", Threshold: 80, Used: 8, Limit: 10, Day: day},
		}
		n.More = 3
		n.ID = fmt.Sprintf("%s/%s/%s", kind, dayStart, n.Subject)
	case notifier.NoticeDailyReport:
		n.TimeZone = "Europe/Berlin"
		n.Report = &notifier.Report{
			Sent: 7_912, Dropped: 3, Failed: 2, Cancelled: 41, Late: 17, Accepted: 8_204, Retried: 1, WaitingChange: 247,
			Refused: map[string]int64{"1/minute": 96, "10/calendar_day": 31, "quota_exceeded": 4},
		}
		n.ID = fmt.Sprintf("%s/%s/%s", kind, dayStart, n.Subject)
	case notifier.NoticeEventLimit:
		n.Event, n.Key = "submit", n.Subject
		n.Subject = n.Event + "/" + n.Key
		n.Threshold, n.Used, n.Limit = 80, 400, 500
		n.Rule, n.TimeZone = "500/calendar_day", "Europe/Berlin"
		n.Since, n.Until = "2026-11-22T00:00:00+01:00", "2026-11-23T00:00:00+01:00"
		n.ID = fmt.Sprintf("%s/%s/%d@%d/%s", kind, "1795302000000", n.Threshold, n.Limit, n.Subject)
	case notifier.NoticeCallbackChanged:
		n.Change, n.Host, n.TimeZone, n.Since = notice.CallbackSet, "hooks.example.com", "Europe/Berlin", "2026-11-22T12:00:00+01:00"
		n.ID = fmt.Sprintf("%s/%s/%s", kind, "1795345200000", n.Subject)
	case notifier.NoticeKeysChanged:
		n.Change, n.Scopes, n.TimeZone, n.Since = notice.KeyAdded, []string{"submit", "read"}, "Europe/Berlin", "2026-11-22T12:00:00+01:00"
		n.ID = fmt.Sprintf("%s/%s/%s", kind, "1795345200000", n.Subject)
	default:
		return notifier.Notice{}, false
	}
	return n, true
}
