package sendlimittest

import (
	"fmt"
	"slices"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// CountersModel is a plain model of counters.Counters. It keeps a list of all
// calls ever counted, with the beginning of the period of each. Requests must be
// valid, except that N may be above a limit. Their At must be set. The model is
// not safe for concurrent use.
type CountersModel struct {
	events  map[string]counters.EventLimits
	counted map[string][]countedCall // by event, key and counter
	windows map[string]span          // the last window of a counter, by the same key
}

// countedCall is a call in one counter: the beginning of the period and the
// amount. The amount is negative for a call that was given back.
type countedCall struct{ from, n int64 }

// NewCountersModel returns a model of an empty store.
func NewCountersModel() *CountersModel {
	return &CountersModel{
		events:  make(map[string]counters.EventLimits),
		counted: make(map[string][]countedCall),
		windows: make(map[string]span),
	}
}

// Set sets an event's limits.
func (m *CountersModel) Set(e counters.EventLimits) { m.events[e.Name] = e }

// Remove removes an event's limits. It reports whether there were any.
func (m *CountersModel) Remove(name string) bool {
	_, had := m.events[name]
	delete(m.events, name)
	return had
}

// Count counts or refuses a call. The error wraps a *fault.InvalidError if N is
// above a limit.
func (m *CountersModel) Count(r counters.Request) (counters.Decision, error) {
	return m.judge(r, true)
}

// Peek models Counters.Peek.
func (m *CountersModel) Peek(r counters.Request) (counters.Decision, error) {
	return m.judge(r, false)
}

func (m *CountersModel) judge(r counters.Request, count bool) (counters.Decision, error) {
	n, now := max(r.N, 1), cut(r.At)
	usages, periods := m.usages(r)
	d := counters.Decision{Allowed: true, Now: moment(now)}
	var refusing, tightest *counters.Usage
	for i := range usages {
		u := &usages[i]
		if n > u.Counter.Limit {
			return counters.Decision{}, fmt.Errorf("model of counters: %w", &fault.InvalidError{Field: "n"})
		}
		if u.Used+n > u.Counter.Limit && (refusing == nil || u.Until.After(refusing.Until)) {
			refusing = u
		}
	}
	for i := range usages {
		u := &usages[i]
		if refusing == nil && count {
			m.put(r, u.Counter, periods[i], n)
			u.Used += n
		}
		if tightest == nil || u.Remaining() < tightest.Remaining() ||
			u.Remaining() == tightest.Remaining() && u.Until.After(tightest.Until) {
			tightest = u
		}
	}
	d.Counters = usages
	if refusing != nil {
		d.Allowed, d.Code = false, fault.CodeRateLimited
		d.RetryAfter = refusing.Until.Sub(d.Now)
		tightest = refusing
	}
	if tightest != nil {
		d.Counter, d.Remaining, d.ResetsAt = tightest.Counter.Name, tightest.Remaining(), tightest.Until
	}
	return d, nil
}

// GiveBack subtracts a call from its counters.
func (m *CountersModel) GiveBack(r counters.Request) {
	now := cut(r.At)
	usages, periods := m.usages(r)
	for i, u := range usages {
		if now < periods[i].from { // a window that began later
			continue
		}
		if back := min(max(r.N, 1), u.Used); back > 0 {
			m.put(r, u.Counter, periods[i], -back)
		}
	}
}

// Reset sets the counters of a call to zero in their present periods.
func (m *CountersModel) Reset(r counters.Request) {
	usages, periods := m.usages(r)
	for i, u := range usages {
		name := counterName(r, u.Counter)
		if u.Counter.Period == calendar.NoPeriod {
			delete(m.windows, name)
		}
		m.counted[name] = slices.DeleteFunc(m.counted[name], func(c countedCall) bool {
			return u.Counter.Period == calendar.NoPeriod || c.from == periods[i].from
		})
	}
}

// usages lists the counters of a call before it is counted, those of its event
// first.
func (m *CountersModel) usages(r counters.Request) (usages []counters.Usage, periods []span) {
	event := m.events[r.Event]
	zoneName := r.TimeZone
	if r.Event != "" {
		zoneName = event.TimeZone
	}
	zone, err := calendar.ParseTimeZone(zoneName)
	if err != nil {
		panic(err) // requests must be valid
	}
	now := cut(r.At)
	for _, c := range append(event.Counters(), r.Counters...) {
		var period span
		fresh := false
		if c.Period == calendar.NoPeriod {
			period = m.windows[counterName(r, c)]
			length := c.Window.Milliseconds()
			// One further ahead began while the clock was ahead.
			if fresh = now >= period.until || period.from > now+length; fresh {
				period = span{now, now + length}
			}
		} else {
			period = periodAt(c.Period, zone, now)
		}
		var used int64
		for _, call := range m.counted[counterName(r, c)] {
			if call.from == period.from && !fresh {
				used += call.n
			}
		}
		usages = append(usages, counters.Usage{
			Counter: c, Used: used, From: moment(period.from), Until: moment(period.until),
		})
		periods = append(periods, period)
	}
	return usages, periods
}

func (m *CountersModel) put(r counters.Request, c counters.Counter, period span, n int64) {
	name := counterName(r, c)
	if c.Period == calendar.NoPeriod && m.windows[name] != period {
		m.windows[name] = period
		delete(m.counted, name) // the clock may have been here before
	}
	m.counted[name] = append(m.counted[name], countedCall{period.from, n})
}

func counterName(r counters.Request, c counters.Counter) string {
	return fmt.Sprintf("%q %q %q", r.Event, r.Key, c.Name)
}
