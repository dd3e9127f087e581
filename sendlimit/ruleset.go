package sendlimit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ruleset is a policy made ready for the scripts.
type ruleset struct {
	policy     Policy
	zone       *time.Location // of the calendar rules
	quietZone  *time.Location
	zones      *zoneTables
	zoned      bool          // a calendar rule, or an alert of a day, counts in a zone that is not UTC
	keep       time.Duration // what is older than this is forgotten
	rules      string        // limit and window of each overall one, as lua/fragments/policy.lua reads them
	categories string        // those of categories, as lua/fragments/policy.lua reads them
	week       string        // the quiet hours of a week, as lua/fragments/quiet.lua reads them
	alertFrom  any           // as Policy.alerts has it
	alerts     string
	others     *scope // of categories for which the policy has nothing
	tables     atomic.Pointer[yearTables]
}

// yearTables are what the scripts are told of the zones around a year.
type yearTables struct {
	year      int
	offsets   string
	quiet     string
	quietZone *zoneTable // nil where there are no quiet hours
}

// newRuleset makes a policy ready whose zone and limits are those of the user it
// is for; quietZone is that of its quiet hours. The error is an *InvalidError.
func newRuleset(p Policy, quietZone string, zones *zoneTables) (*ruleset, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := &ruleset{policy: p, zones: zones, keep: p.LargestWindow() + Grace, rules: ruleWords(p.Rules), week: p.QuietHours.words()}
	var err error
	if s.zone, err = zones.location(p.TimeZone); err != nil {
		return nil, err
	}
	if s.quietZone, err = zones.location(quietZone); err != nil {
		return nil, err
	}
	s.alertFrom, s.alerts = p.alerts()
	calendar := s.alerts != "" || slices.ContainsFunc(p.Rules, Rule.Calendar)
	entries := make([]string, 0, len(p.Categories))
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		category := p.Categories[name]
		calendar = calendar || slices.ContainsFunc(category.Rules, Rule.Calendar)
		entries = append(entries, name+"="+cmp.Or(category.exemption(), ruleWords(category.Rules)))
	}
	s.categories = strings.Join(entries, ",")
	s.zoned = calendar && s.zone != time.UTC
	s.others = &scope{set: s, words: s.rules}
	return s, nil
}

// ruleWords are limit and window of each rule, as lua/fragments/policy.lua reads
// them.
func ruleWords(rules []Rule) string {
	words := make([]string, 0, 2*len(rules))
	for _, r := range rules {
		window := r.Window.Milliseconds()
		if r.Calendar() {
			window = -int64(r.Period)
		}
		words = append(words, strconv.Itoa(r.Limit), strconv.FormatInt(window, 10))
	}
	return strings.Join(words, " ")
}

// reach is how far ahead a send time may lie where the program's own reach is
// that.
func (s *ruleset) reach(own time.Duration) time.Duration {
	if s.policy.Reach == 0 {
		return own
	}
	return min(s.policy.Reach, own)
}

// offsets returns the offsets of the calendar rules' zone as lua/fragments/zone.lua
// reads them, for the years that a request about the time at can look at, see
// zoneTables.around. The zero time stands for the local clock: only its year
// matters.
func (s *ruleset) offsets(at time.Time) string {
	if !s.zoned {
		return ""
	}
	return s.around(at).offsets
}

// quietHours returns the quiet hours as lua/fragments/quiet.lua reads them, for
// the same years as offsets.
func (s *ruleset) quietHours(at time.Time) string {
	if s.week == "" {
		return ""
	}
	return s.around(at).quiet
}

func (s *ruleset) around(at time.Time) *yearTables {
	at = orLocalClock(at)
	year := at.UTC().Year()
	if t := s.tables.Load(); t != nil && t.year == year {
		return t
	}
	t := &yearTables{year: year}
	if s.zoned {
		t.offsets = s.zones.around(s.zone, at).words
	}
	if s.week != "" {
		t.quietZone = s.zones.around(s.quietZone, at)
		t.quiet = t.quietZone.words + "|" + s.week
	}
	s.tables.Store(t)
	return t
}

// orLocalClock is a time, or that of the local clock where it is zero.
func orLocalClock(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now() //nolint:forbidigo // picks the years of a zone's table, judges nothing
	}
	return at
}

// isQuiet reports whether an instant, Unix ms, is in the quiet hours.
func (s *ruleset) isQuiet(at int64) bool {
	if s.week == "" {
		return false
	}
	return s.policy.QuietHours.at(weekOf(s.quietTable(at).local(at)))
}

// quietPeriod is the stretch of quiet hours that a time is in; nil for none.
func (s *ruleset) quietPeriod(at time.Time) *QuietPeriod {
	if s.week == "" {
		return nil
	}
	ms := at.UnixMilli()
	table := s.quietTable(ms)
	from, until, quiet := s.policy.QuietHours.around(ms, table)
	if !quiet {
		return nil
	}
	return &QuietPeriod{
		From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC(),
		TimeZone: s.quietZone.String(), Location: s.quietZone, Hours: s.policy.QuietHours.lineAt(ms, table),
	}
}

// quietTable is the table of the quiet hours' zone, where there are any, around an
// instant, Unix ms.
func (s *ruleset) quietTable(at int64) *zoneTable { return s.around(time.UnixMilli(at)).quietZone }

// span bounds what any rule looks at around the send time at, first and last
// millisecond included: the overall rules and those of a category. It may be wider
// than needed, never narrower.
func (s *ruleset) span(at int64, category []Rule) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, rules := range [...][]Rule{s.policy.Rules, category} {
		for _, r := range rules {
			from, till := at-r.longest().Milliseconds()+1, at+r.longest().Milliseconds()
			if r.Calendar() && s.zone == time.UTC && r.Period != Month {
				from, till = naturalPeriod(r.Period, at)
			}
			first, last = min(first, from), max(last, till-1)
		}
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
