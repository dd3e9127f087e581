package sendlimit

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// decision reads the reply of lua/count.lua.
func (r CountRequest) decision(in *replyReader) (Decision, error) {
	const (
		counted = 1
		refused = 0
		never   = -1
		first   = 5 // the counters begin there
	)
	status, now, decides, events, raised := in.int(0), in.time(1), in.int(2), int(in.int(3)), in.string(4)
	d := Decision{Allowed: status == counted, Now: now}
	if raised != "" {
		d.Notices = []string{raised}
	}
	for i := range len(in.reply) - first {
		row := in.nested(first + i)
		usage := CounterUsage{Used: row.int(2), From: row.time(3), Until: row.time(4)}
		period := row.int(1)
		if own := i - events; own >= 0 && own < len(r.Counters) {
			usage.Counter = r.Counters[own]
		} else {
			usage.Counter = eventCounter(Period(max(-period, 0)), row.int(0)) //nolint:gosec // checked there
		}
		if row.err == nil && usage.Counter.period() != period {
			row.fail(1, "period of "+usage.Counter.Name)
		}
		in.absorb(row)
		d.Counters = append(d.Counters, usage)
	}
	if in.err == nil && (status < never || status > counted || decides < 0 || int(decides) > len(d.Counters) ||
		status != counted && decides == 0 || len(d.Counters)-events != len(r.Counters)) {
		in.fail(0, "answer to that")
	}
	if in.err != nil {
		return Decision{}, in.err
	}
	switch status {
	case never:
		limit := d.Counters[decides-1].Counter
		return Decision{}, &InvalidError{
			Field: "n", Value: strconv.FormatInt(cmp.Or(r.N, 1), 10),
			Want: fmt.Sprintf("at most %d: counter %s allows %s", limit.Limit, limit.Name, limit),
		}
	case refused:
		d.Code = CodeRateLimited
		d.decidedBy(d.Counters[decides-1])
		d.RetryAfter = max(d.ResetsAt.Sub(now), time.Millisecond)
	default:
		if tightest, ok := leastLeft(d.Counters); ok {
			d.decidedBy(tightest)
		}
	}
	return d, nil
}

func (d *Decision) decidedBy(u CounterUsage) {
	d.Counter, d.Remaining, d.ResetsAt = u.Counter.Name, u.Remaining(), u.Until
}

// leastLeft gives the counter with the least left, of several the one that
// resets last; ok is false if there is none.
func leastLeft(counters []CounterUsage) (tightest CounterUsage, ok bool) {
	for _, u := range counters {
		switch left := u.Remaining() - tightest.Remaining(); {
		case !ok, left < 0, left == 0 && u.Until.After(tightest.Until):
			tightest, ok = u, true
		}
	}
	return tightest, ok
}

// eventCounter is the counter of an event in a natural period.
func eventCounter(p Period, limit int64) Counter {
	return Counter{Name: p.String(), Limit: limit, Period: p}
}
