package sendlimit

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ruleset is a policy made ready for the scripts.
type ruleset struct {
	policy    Policy
	zone      *time.Location
	zoned     bool          // a calendar rule, or an alert of a day, counts in a zone that is not UTC
	keep      time.Duration // what is older than this is forgotten
	rules     string        // limit and window of each, as lua/fragments/policy.lua reads them
	alertFrom any           // as Policy.alerts has it
	alerts    string
	table     atomic.Pointer[offsetTable]
}

// offsetTable is the zone's offsets around a year, as the scripts read them.
type offsetTable struct {
	year    int
	offsets string
}

func newRuleset(p Policy) (*ruleset, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	zone, err := p.location()
	if err != nil {
		return nil, err
	}
	s := &ruleset{policy: p, zone: zone, keep: p.LargestWindow() + Grace}
	words := make([]string, 0, 2*len(p.Rules))
	for _, r := range p.Rules {
		window := r.Window.Milliseconds()
		if r.Calendar() {
			window = -int64(r.Period)
			s.zoned = s.zoned || zone != time.UTC
		}
		words = append(words, strconv.Itoa(r.Limit), strconv.FormatInt(window, 10))
	}
	s.rules = strings.Join(words, " ")
	s.alertFrom, s.alerts = p.alerts()
	s.zoned = s.zoned || zone != time.UTC && s.alerts != ""
	return s, nil
}

// withoutAlerts is the same rules, of which nobody is alerted.
func (s *ruleset) withoutAlerts() *ruleset {
	return &ruleset{policy: s.policy, zone: s.zone, zoned: s.zoned, keep: s.keep, rules: s.rules, alertFrom: ""}
}

// offsets returns the zone's offsets as lua/fragments/policy.lua reads them,
// for the years that a request about the time at can look at: the reach ahead,
// and a reach and a largest window back.
func (s *ruleset) offsets(at time.Time) string {
	if !s.zoned {
		return ""
	}
	year := at.UTC().Year()
	if t := s.table.Load(); t != nil && t.year == year {
		return t.offsets
	}
	offsets := offsetSegments(s.zone,
		time.Date(year-2, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(year+3, 1, 1, 0, 0, 0, 0, time.UTC))
	s.table.Store(&offsetTable{year: year, offsets: offsets})
	return offsets
}

// offsetsNow are the offsets around now, or around the local clock where now is
// zero: only the year matters.
func (s *ruleset) offsetsNow(now time.Time) string {
	if !s.zoned {
		return ""
	}
	if now.IsZero() {
		now = time.Now() //nolint:forbidigo // picks the years of a zone's table, judges nothing
	}
	return s.offsets(now)
}

// offsetSegments lists, for every stretch of [from, to) in which the zone's
// offset stays the same, its first instant (Unix ms) and offset (ms); from is a
// whole second, as clocks change at those. It looks at the clock twice a day and
// closes in where it changed: Time.ZoneBounds does not always get past the end of
// a year for which the zone has only a recurring rule.
func offsetSegments(zone *time.Location, from, to time.Time) string {
	const step = 12 * time.Hour
	offsetAt := func(at time.Time) int {
		_, offset := at.In(zone).Zone()
		return offset
	}
	var words []string
	add := func(at time.Time, offset int) {
		words = append(words, strconv.FormatInt(at.UnixMilli(), 10), strconv.Itoa(offset*1000))
	}
	offset := offsetAt(from)
	add(from, offset)
	for at := from; at.Before(to); at = at.Add(step) {
		following := offsetAt(at.Add(step))
		if following == offset {
			continue
		}
		seconds := sort.Search(int(step/time.Second), func(s int) bool {
			return offsetAt(at.Add(time.Duration(s)*time.Second)) != offset
		})
		offset = following
		add(at.Add(time.Duration(seconds)*time.Second), offset)
	}
	return strings.Join(words, " ")
}

// span bounds what any rule looks at around the send time at, first and last
// millisecond included. It may be wider than needed, never narrower.
func (s *ruleset) span(at int64) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, r := range s.policy.Rules {
		from, till := at-r.longest().Milliseconds()+1, at+r.longest().Milliseconds()
		if r.Calendar() && s.zone == time.UTC && r.Period != Month {
			from, till = naturalPeriod(r.Period, at)
		}
		first, last = min(first, from), max(last, till-1)
	}
	return first, last
}

// naturalPeriod gives the natural UTC minute, hour, day or week of at,
// half-open, all in Unix ms.
func naturalPeriod(p Period, at int64) (from, till int64) {
	length, shift := p.longest().Milliseconds(), int64(0)
	switch p {
	case Day:
		length = day.Milliseconds()
	case Week:
		length, shift = week.Milliseconds(), 4*day.Milliseconds() // 5 January 1970 was a Monday
	case Minute, Hour, Month, NoPeriod:
	}
	from = at - ((at-shift)%length+length)%length
	return from, from + length
}
