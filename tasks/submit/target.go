package submit

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// target is the wanted place of a message.
type target struct {
	at      time.Time // whose hour and day are charged
	present bool      // at is now
	from    time.Time // where a shift begins to search; zero means the send time
	plain   bool      // the shift ignores the spread of its policy: no other time is free
}

// targetAt returns the wanted place for a requested time. Zero means now, and so does a past time
// within policy.Grace.
func targetAt(asked, now time.Time) target {
	if asked.IsZero() || asked.Before(now) && now.Sub(asked) <= policy.Grace {
		return target{at: now, present: true}
	}
	return target{at: asked}
}

// triesAfter returns 0 if a shift went on to a later place, and else 1.
func (a target) triesAfter(before target) int {
	if a.from.Equal(a.at) && a.at.After(before.at) {
		return 0
	}
	return 1
}

// again returns the next place to try for a message if its hold did not cover it or the message that
// it replaces, or if its time has become free. again is false if the time was refused.
func (a target) again(r sendlimit.Request, d sendlimit.Decision) (next target, again bool) {
	switch {
	case d.Code == fault.CodeHoldOver || d.Code == fault.CodeChanged: // the message to replace is another one
		return a, true
	case d.Code == fault.CodeOutsideHold:
		return target{at: d.At, present: !d.At.After(d.Now), from: a.from, plain: a.plain}, true
	case d.Code == fault.CodeSendLimit && len(d.Violations) == 0: // what was in the way is gone
		return targetAt(r.At, d.Now), true
	}
	return target{}, false
}
