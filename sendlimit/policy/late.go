package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// Late is why a late message was postponed.
type Late struct {
	InTheWay   Rule   // the first rule that postponed it; zero if none did
	Category   string // of that rule; "" for an overall rule
	QuietHours bool   // whether quiet hours postponed it
	// DoNotDisturb reports whether UserSettings.DoNotDisturbUntil postponed it.
	DoNotDisturb bool
}

// ReadLate reads the reason that a script stores for a late message: "late", "late quiet",
// "late disturb", or "late" with limit, window and category of a rule, such as "late 1 60000 marketing". ok is false
// for another reason.
func ReadLate(reason string) (l Late, ok bool) {
	words := strings.SplitN(reason, " ", 4)
	if words[0] != "late" {
		return Late{}, false
	}
	switch {
	case len(words) == 2 && words[1] == "quiet":
		l.QuietHours = true
	case len(words) == 2 && words[1] == "disturb":
		l.DoNotDisturb = true
	case len(words) > 2:
		l.InTheWay = ruleOf(words[1], words[2])
		if len(words) > 3 && l.InTheWay != (Rule{}) {
			l.Category = words[3]
		}
	}
	return l, true
}

// ruleOf reads limit and window of a rule in the form of scripts, "1" and "60000". It returns the
// zero Rule if they are invalid.
func ruleOf(limit, window string) Rule {
	n, err := strconv.Atoi(limit)
	if err != nil {
		return Rule{}
	}
	length, err := strconv.ParseInt(window, 10, 64)
	if err != nil || length < -int64(calendar.Month) {
		return Rule{}
	}
	r := Rule{Limit: n}
	if length < 0 {
		r.Period = calendar.Period(-length)
	} else {
		r.Window = time.Duration(length) * time.Millisecond
	}
	if r.Validate() != nil {
		return Rule{}
	}
	return r
}
