package judge

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Ruleset is a policy compiled for the scripts. Their arguments are kept as any, so
// that a call does not convert them.
type Ruleset struct {
	Policy     policy.Policy
	zone       *time.Location // of the calendar rules
	quietZone  *time.Location
	zones      *calendar.ZoneTables
	zoned      bool          // a calendar rule or an alert of a day counts in another zone than UTC
	Keep       time.Duration // older places are forgotten
	keep       any           // Keep, ms
	words      any           // the overall rules, as lua/fragments/policy.lua reads them
	categories any           // the rules of categories, as lua/fragments/policy.lua reads them
	week       string        // the quiet hours of a week, as lua/fragments/quiet.lua reads them
	AlertFrom  any           // how many places may raise an alert, see policy.Policy.Alerts
	alerts     any           // the alerts, as lua/fragments/user_alert.lua reads it
	scopes     map[string]*Scope
	others     *Scope // of categories that the policy does not name
	refused    *Scope // the same, if the policy refuses these
	tables     atomic.Pointer[yearTables]
}

// yearTables has the zones around a year, for the scripts.
type yearTables struct {
	year      int
	offsets   any                 // see lua/fragments/zone.lua
	quiet     any                 // see lua/fragments/quiet.lua
	quietZone *calendar.ZoneTable // nil without quiet hours
}

// newRuleset compiles a policy that already has the user's zone and limits.
// quietZone is the zone of its quiet hours. The error is an *InvalidError.
func newRuleset(p policy.Policy, quietZone string, zones *calendar.ZoneTables) (*Ruleset, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := &Ruleset{Policy: p, zones: zones, Keep: p.LargestWindow() + policy.Grace, week: p.QuietHours.Words()}
	var err error
	if s.zone, err = zones.Location(p.TimeZone); err != nil {
		return nil, err
	}
	if s.quietZone, err = zones.Location(quietZone); err != nil {
		return nil, err
	}
	s.AlertFrom, s.alerts = p.Alerts()
	words := policy.RuleWords(p.Rules)
	s.keep, s.words = s.Keep.Milliseconds(), words
	s.others = &Scope{Set: s, words: words, whose: ""}
	s.refused = &Scope{Set: s, words: words, whose: "", Refused: true}
	s.scopes = make(map[string]*Scope, len(p.Categories))
	calendar := s.alerting() || slices.ContainsFunc(p.Rules, policy.Rule.Calendar)
	entries := make([]string, 0, len(p.Categories))
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		category := p.Categories[name]
		calendar = calendar || slices.ContainsFunc(category.Rules, policy.Rule.Calendar)
		entries = append(entries, name+"="+cmp.Or(category.Exemption(), policy.RuleWords(category.Rules)))
		s.scopes[name] = s.newScope(name, words)
	}
	s.categories = strings.Join(entries, ",")
	s.zoned = calendar && s.zone != time.UTC
	return s, nil
}

// Reach returns how far ahead a send time may lie, given the program's own reach.
func (s *Ruleset) Reach(own time.Duration) time.Duration {
	if s.Policy.Reach == 0 {
		return own
	}
	return min(s.Policy.Reach, own)
}

// alerting reports whether there are alerts.
func (s *Ruleset) alerting() bool { return s.alerts != any("") }

func (s *Ruleset) tablesAt(at time.Time) *yearTables {
	at = calendar.OrLocalClock(at)
	year := at.UTC().Year()
	if t := s.tables.Load(); t != nil && t.year == year {
		return t
	}
	t := &yearTables{year: year, offsets: "", quiet: ""}
	if s.zoned {
		t.offsets = s.zones.TableAt(s.zone, at).Words
	}
	if s.week != "" {
		t.quietZone = s.zones.TableAt(s.quietZone, at)
		t.quiet = t.quietZone.Words + "|" + s.week
	}
	s.tables.Store(t)
	return t
}

// isQuiet reports whether a time, Unix ms, is in the quiet hours.
func (s *Ruleset) isQuiet(at int64) bool {
	if s.week == "" {
		return false
	}
	return s.Policy.QuietHours.At(policy.WeekOf(s.quietTable(at).Local(at)))
}

// QuietPeriod returns the stretch of quiet hours that a time is in, or nil.
func (s *Ruleset) QuietPeriod(at time.Time) *policy.QuietPeriod {
	if s.week == "" {
		return nil
	}
	ms := at.UnixMilli()
	table := s.quietTable(ms)
	from, until, quiet := s.Policy.QuietHours.StretchAt(ms, table)
	if !quiet {
		return nil
	}
	return &policy.QuietPeriod{
		From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC(),
		TimeZone: s.quietZone.String(), Location: s.quietZone, Hours: s.Policy.QuietHours.LineAt(ms, table),
	}
}

// quietTable returns the table of the quiet hours' zone around a time, Unix ms. It is
// for a policy with quiet hours.
func (s *Ruleset) quietTable(at int64) *calendar.ZoneTable {
	return s.tablesAt(time.UnixMilli(at)).quietZone
}

// span returns the first and the last millisecond that any rule looks at around the
// send time at, of the overall rules and a category's. The span may be wider than
// needed, never narrower.
func (s *Ruleset) span(at int64, category []policy.Rule) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, rules := range [...][]policy.Rule{s.Policy.Rules, category} {
		for _, r := range rules {
			from, till := at-r.Longest().Milliseconds()+1, at+r.Longest().Milliseconds()
			if r.Calendar() && s.zone == time.UTC && r.Period != calendar.Month {
				from, till = calendar.NaturalPeriod(r.Period, at)
			}
			first, last = min(first, from), max(last, till-1)
		}
	}
	return first, last
}
