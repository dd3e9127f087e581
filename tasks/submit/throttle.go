package submit

import (
	"fmt"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// explainCharge completes the outcome of a message if its quota or throttle is used up.
func explainCharge(o *message.Outcome, d sendlimit.Decision, category string, refused quota.Charge, p backend.Payer) {
	p.Quota(o, refused)
	if refused.Code == fault.CodeQuotaExceeded && d.AtEnd != nil {
		o.Detail = windowSentence(d, o.Detail, o.User, o.ID)
	}
	if refused.Code != fault.CodeThrottled || o.Code != fault.CodeThrottled {
		return
	}
	used := refused.UsedUp
	minute := "15:04"
	if used.From.YearDay() != refused.Now.YearDay() || used.From.Year() != refused.Now.Year() {
		minute = "2006-01-02 15:04"
	}
	from, a := used.From.Format(minute), "a minute"
	if used.Counter.Period == calendar.Hour {
		from, a = from+" to "+used.Until.Format("15:04"), "an hour"
	}
	o.Detail = fmt.Sprintf("%s messages are limited to %d %s over all users, and %s scheduled for %s",
		category, used.Counter.Limit, a, are(used.Used), from)
	if d.AtEnd != nil {
		o.Detail = windowSentence(d, o.Detail, o.User, o.ID)
	} else {
		o.Detail += insteadOf(d)
	}
}

// are returns a number with its verb.
func are(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
