package submit

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// outcomeOf returns the outcome of a decision about a message; done names an allowed one.
func outcomeOf(d sendlimit.Decision, done, user, id string) message.Outcome {
	o := message.Outcome{
		Outcome: done, ID: id, User: user,
		SendAt: message.Time{Time: d.At}, RequestedAt: message.Time{Time: d.RequestedAt}, MovedFrom: message.Time{Time: d.MovedFrom},
		Shifted: d.Shifted, Replayed: d.Replayed,
	}
	if d.Allowed {
		return o
	}
	o.Outcome, o.Code = message.Refused, d.Code
	if d.Code == fault.CodeInPast || d.Code == fault.CodeTooFarAhead || d.Code == fault.CodePastExpiry {
		o.Outcome, o.Field = message.Invalid, "send_at"
	}
	if end := d.AtEnd; end != nil {
		at := outcomeOf(*end, done, user, id)
		o.WindowEnd = &message.WindowEnd{
			SendAt: at.SendAt, Code: at.Code, QuietHours: at.QuietHours, DoNotDisturbUntil: at.DoNotDisturbUntil, Violations: at.Violations,
		}
	}
	o.RetryAfterSeconds = int64((d.RetryAfter + time.Second - 1) / time.Second)
	if d.Code == fault.CodeUnknownCategory || d.Code == fault.CodeCategoryReserved {
		o.Outcome, o.Field = message.Invalid, "category"
	}
	for _, v := range d.Violations {
		o.Violations = append(o.Violations, violationOf(v))
	}
	o.QuietHours = message.QuietHoursOf(d.Quiet)
	o.DoNotDisturbUntil = message.Time{Time: d.DoNotDisturbUntil}
	o.NextFreeAt, o.PreviousFreeAt = message.Time{Time: d.NextFree}, message.Time{Time: d.PreviousFree}
	o.Detail = refusalSentence(d, user, id)
	if d.AtEnd != nil {
		o.Detail = windowSentence(d, refusalSentence(withoutFreeTimes(d), user, id), user, id)
	}
	if d.OfOthers {
		o.NoteSomeOfOthers()
	}
	return o
}

func violationOf(v sendlimit.Violation) message.Violation {
	out := message.Violation{
		Rule: v.Rule.String(), Category: v.Category, Limit: v.Rule.Limit, Kind: "sliding",
		AccountLimit:   v.Share,
		WindowSeconds:  int(v.Rule.Window / time.Second),
		Conflicts:      make([]message.Conflict, len(v.Conflicts)),
		ConflictsTotal: v.ConflictsTotal,
	}
	if v.Rule.Calendar() {
		out.Kind, out.From, out.Until = "calendar", message.Time{Time: v.From}, message.Time{Time: v.Until}
	}
	for i, c := range v.Conflicts {
		out.Conflicts[i] = message.Conflict{ID: c.ID, SendAt: message.Time{Time: c.At}}
	}
	return out
}
