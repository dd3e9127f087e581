package counters

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// decision reads the reply of lua/count/count.lua.
func (r Request) decision(in *script.ReplyReader) (Decision, error) {
	const (
		counted = 1
		refused = 0
		never   = -1
		first   = 5 // the counters begin there
	)
	status, now, decides, events, raised := in.Int(0), in.Time(1), in.Int(2), int(in.Int(3)), in.String(4)
	d := Decision{Allowed: status == counted, Now: now}
	if raised != "" {
		d.Notices = []string{raised}
	}
	for i := range len(in.Reply) - first {
		row := in.Nested(first + i)
		usage := Usage{Used: row.Int(2), From: row.Time(3), Until: row.Time(4)}
		period := row.Int(1)
		if own := i - events; own >= 0 && own < len(r.Counters) {
			usage.Counter = r.Counters[own]
		} else {
			usage.Counter = eventCounter(calendar.Period(max(-period, 0)), row.Int(0))
		}
		if row.Err == nil && usage.Counter.scriptPeriod() != period {
			row.Fail(1, "period of "+usage.Counter.Name)
		}
		in.Absorb(row)
		d.Counters = append(d.Counters, usage)
	}
	if in.Err == nil && (status < never || status > counted || decides < 0 || int(decides) > len(d.Counters) ||
		status != counted && decides == 0 || len(d.Counters)-events != len(r.Counters)) {
		in.Fail(0, "answer to that")
	}
	if in.Err != nil {
		return Decision{}, in.Err
	}
	switch status {
	case never:
		limit := d.Counters[decides-1].Counter
		return Decision{}, &fault.InvalidError{
			Field: "n", Value: strconv.FormatInt(cmp.Or(r.N, 1), 10),
			Want: fmt.Sprintf("at most %d: counter %s allows %s", limit.Limit, limit.Name, limit),
		}
	case refused:
		d.Code = fault.CodeRateLimited
		d.decidedBy(d.Counters[decides-1])
		d.RetryAfter = max(d.ResetsAt.Sub(now), time.Millisecond)
	default:
		if tightest, ok := leastLeft(d.Counters); ok {
			d.decidedBy(tightest)
		}
	}
	return d, nil
}

// leastLeft returns the counter with the least left; among equals the one that resets last. ok is
// false if there is none.
func leastLeft(counters []Usage) (tightest Usage, ok bool) {
	for _, u := range counters {
		switch left := u.Remaining() - tightest.Remaining(); {
		case !ok, left < 0, left == 0 && u.Until.After(tightest.Until):
			tightest, ok = u, true
		}
	}
	return tightest, ok
}

// eventCounter returns the counter of an event in a natural period.
func eventCounter(p calendar.Period, limit int64) Counter {
	return Counter{Name: p.String(), Limit: limit, Period: p}
}
