package sendlimit

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// lastUsageYear is the last year that Usage accepts. A window that contains a time of it ends up to
// 366 days later, still in a year that RFC 3339 can write.
const lastUsageYear = 9997

// checkYears returns an error if windows and stretches around the times would end after the year
// 9999. To needs no check: it is at most MaxUsageSpan after From.
func (r UsageRequest) checkYears() error {
	for _, asked := range []struct {
		field string
		at    time.Time
	}{{"at", r.At}, {"from", r.From}} {
		if asked.at.UTC().Year() > lastUsageYear {
			return &fault.InvalidError{
				Field: asked.field, Value: asked.at.UTC().Format(time.RFC3339), Want: fmt.Sprintf("a time up to the year %d", lastUsageYear),
			}
		}
	}
	return nil
}

// checkSpan returns an error if To is not after From, or too long after it.
func (r UsageRequest) checkSpan() error {
	spanned := !r.From.IsZero() || !r.To.IsZero()
	if spanned && (!r.To.After(r.From) || r.To.Sub(r.From) > MaxUsageSpan) {
		return &fault.InvalidError{
			Field: "until", Value: r.To.Format(time.RFC3339),
			Says: fmt.Sprintf("until must be after from, by at most %d days", int(MaxUsageSpan/calendar.DayLong)),
		}
	}
	return nil
}

// Usage returns how full each rule is at a time, and which stretches of a span are free. It does
// not know what throttles have left. Like Forbidden, it is for people: Reserve decides.
func (t *Timeline) Usage(ctx context.Context, r UsageRequest) (Usage, error) {
	if err := keyspace.CheckUser(r.User); err != nil {
		return Usage{}, err
	}
	if err := r.checkYears(); err != nil {
		return Usage{}, err
	}
	if err := r.checkSpan(); err != nil {
		return Usage{}, err
	}
	s := &placesSearch{timeline: t, user: r.User, category: r.Category, asked: r.Now, usage: true}
	if !r.At.IsZero() {
		s.at = r.At.UnixMilli()
	}
	if !r.To.IsZero() {
		s.from, s.until = r.From.UnixMilli(), r.To.UnixMilli()
	}
	if err := s.read(ctx); err != nil {
		return Usage{}, err
	}
	u := Usage{Now: s.now, At: s.now, Blocked: s.by.Blocked, OptedOut: s.around.OptedOut}
	if s.at != 0 {
		u.At = time.UnixMilli(s.at).UTC()
	}
	u.Rules = s.rulesAt(u.At.UnixMilli())
	for _, p := range s.parts {
		u.Quiet = joined(u.Quiet, p.scope.QuietWithin(p.from, p.until))
	}
	if s.from < s.until && !u.Blocked && !u.OptedOut {
		u.Free = s.free()
	}
	return u, nil
}

// rulesAt returns how full the rules are at a time, Unix ms.
func (s *placesSearch) rulesAt(at int64) []RuleUsage {
	var rules []RuleUsage
	for number := 1; number <= s.around.Count(); number++ {
		rule, category := s.around.Rule(number)
		var from, until int64
		var used int
		if rule.Calendar() {
			from, until = s.around.Zone(time.UnixMilli(at)).PeriodAt(rule.Period, at)
			used = len(s.times(category, from, until))
		} else {
			window := rule.Window.Milliseconds()
			used, from = fullestWindow(s.times(category, at-window+1, at+window), at, window)
			until = from + window
		}
		rules = append(rules, RuleUsage{
			Rule: rule, Category: category, Used: used, From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC(),
		})
	}
	return rules
}

// fullestWindow returns how many of the ascending times are in the fullest window that contains a
// time, and the start of the earliest such window, Unix ms. Only windows that start at one of the
// times or at the time itself need a look: any other could start later without losing a time.
func fullestWindow(times []int64, at, window int64) (used int, from int64) {
	from, end := at, 0
	for first := 0; first < len(times) && times[first] <= at; first++ {
		for end < len(times) && times[end] < times[first]+window {
			end++
		}
		if end-first > used {
			used, from = end-first, times[first]
		}
	}
	if later := len(since(times, at)); later > used {
		return later, at
	}
	return used, from
}

// free returns the stretches of the span that nothing forbids.
func (s *placesSearch) free() []calendar.Stretch {
	var free []calendar.Stretch
	from := s.from
	add := func(until int64) {
		if from < until {
			free = append(free, calendar.Stretch{From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC()})
		}
	}
	for _, forbidden := range s.stretches() {
		add(forbidden.From.UnixMilli())
		from = max(from, forbidden.Until.UnixMilli())
	}
	add(s.until)
	return free
}

// joined appends second to first, and joins stretches that touch.
func joined(first, second []calendar.Stretch) []calendar.Stretch {
	for _, s := range second {
		if last := len(first) - 1; last >= 0 && first[last].Until.Equal(s.From) {
			first[last].Until = s.Until
		} else {
			first = append(first, s)
		}
	}
	return first
}
