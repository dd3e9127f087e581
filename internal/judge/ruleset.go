package judge

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Ruleset is a policy compiled for the scripts, with the settings of some users. Its arguments are
// kept as any, so that a call does not convert them.
type Ruleset struct {
	Policy     policy.Policy  // with the user's zone and limits
	source     policy.Policy  // without them
	zone       *time.Location // of the calendar rules
	quietZone  *time.Location
	zones      *calendar.ZoneTables
	zoned      bool          // a calendar rule or an alert of a day counts in a zone other than UTC
	Keep       time.Duration // older places are forgotten
	words      string        // the overall rules, as lua/judge/rules.lua reads them
	categories string        // the rules of categories, as lua/judge/rules.lua reads them
	word       *spelled[wording]
	quiets     []scopeQuiet // the policy's, of categories with their own, the user's; nil if no time is quiet
	disturb    int64        // before which time the user is not disturbed, Unix ms; 0 for none
	own        string       // disturb and the exempt categories, as lua/judge/quiet.lua reads them; "" for none
	alertFrom  int          // how many places may raise an alert, see policy.Policy.Alerts
	alerts     string       // the alerts, as lua/fragments/user_alert.lua reads them
	scopes     map[string]*Scope
	others     *Scope // of categories that are not in the policy
	refused    *Scope // the same, if the policy refuses them
	tables     [4]atomic.Pointer[yearTables]
	dated      []datedRules // of the policy's dated changes; nil in a part
	throttled  any          // categories that have a throttle, see Throttled
}

// newRuleset compiles a policy for users with the same settings. The error is an *InvalidError.
func newRuleset(named policy.Policy, own policy.UserSettings, zones *calendar.ZoneTables) (*Ruleset, error) {
	s, err := newUndated(named, named, own, zones)
	if err != nil || len(named.Changes) == 0 {
		return s, err
	}
	for _, c := range named.Changes {
		rules, err := newUndated(named.During(c), named, own, zones)
		if err != nil {
			return nil, err
		}
		s.addDated(c, rules)
	}
	return s, nil
}

// newUndated compiles a part of a policy: the whole without its dated changes, or one of these.
func newUndated(part, whole policy.Policy, own policy.UserSettings, zones *calendar.ZoneTables) (*Ruleset, error) {
	if err := part.For(own).Validate(); err != nil {
		return nil, err
	}
	p := part.Naming(whole).For(own)
	s := &Ruleset{Policy: p, zones: zones, Keep: p.Keeps(), word: new(spelled[wording])}
	var err error
	if s.zone, err = zones.Location(p.TimeZone); err != nil {
		return nil, err
	}
	if s.quietZone, err = zones.Location(whole.QuietZone(own)); err != nil {
		return nil, err
	}
	if until := own.DoNotDisturbUntil; !until.IsZero() {
		s.disturb, s.own = until.UnixMilli(), strconv.FormatInt(until.UnixMilli(), 10)
	}
	if s.disturb != 0 || slices.Contains(own.OptOut, policy.AllCategories) {
		s.own += "~"
		for _, name := range slices.Sorted(maps.Keys(whole.Categories)) {
			if whole.Categories[name].Exempt {
				s.own += " " + name + " "
			}
		}
		s.own += "~"
	}
	s.alertFrom, s.alerts = p.Alerts()
	words := policy.RuleWords(p.Rules)
	s.words = words
	s.others = &Scope{Set: s, words: words, word: new(spelled[wording])}
	s.refused = &Scope{Set: s, words: words, word: new(spelled[wording]), Refused: true}
	s.scopes = make(map[string]*Scope, len(p.Categories))
	s.quiets = []scopeQuiet{{quiet: p.Quiet("", own.QuietHours)}}
	calendar := s.alerting() || slices.ContainsFunc(p.Rules, policy.Rule.Calendar)
	entries := make([]string, 0, len(p.Categories))
	s.throttled = s.throttledBut(policy.NamedThrottle{})
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		category := p.Categories[name]
		calendar = calendar || slices.ContainsFunc(category.Rules, policy.Rule.Calendar)
		entries = append(entries, name+"="+cmp.Or(category.Exemption(), policy.RuleWords(category.Rules), "-"))
		s.scopes[name] = s.newScope(name, words)
		if category.HasQuiet() {
			s.scopes[name].quiet = len(s.quiets)
			s.quiets = append(s.quiets, scopeQuiet{category: name, quiet: p.Quiet(name, own.QuietHours)})
		}
	}
	if !own.QuietHours.IsZero() {
		s.quiets = append(s.quiets, scopeQuiet{category: ownQuiet, quiet: policy.Policy{}.Quiet("", own.QuietHours)})
	}
	if !slices.ContainsFunc(s.quiets, func(q scopeQuiet) bool { return !q.quiet.IsZero() }) {
		s.quiets = nil
	}
	s.others.OptedOut, s.refused.OptedOut = whole.OptedOut(own, ""), whole.OptedOut(own, "")
	for _, name := range slices.Concat(own.OptOut, slices.Collect(maps.Keys(s.scopes))) {
		if whole.OptedOut(own, name) {
			s.scopes[name] = s.Scope(name).optedOut()
		}
	}
	s.categories = strings.Join(entries, ",")
	s.zoned = calendar && s.zone != time.UTC
	return s, nil
}

// Shares reports whether an account has a share of the rules.
func (s *Ruleset) Shares(by Share) bool { return s.Policy.AccountShare > 0 && by.Places > 0 }

// Reach returns how far ahead a send time may lie, given the program's own reach.
func (s *Ruleset) Reach(own time.Duration) time.Duration {
	if s.Policy.Reach == 0 {
		return own
	}
	return min(s.Policy.Reach, own)
}

// alerting reports whether there are alerts.
func (s *Ruleset) alerting() bool { return s.alerts != "" }

// span returns the first and the last millisecond around the send time at that the bound of a day's
// places and some rules can count. The span may be wider than needed, never narrower.
func (s *Ruleset) span(at int64, some ...[]policy.Rule) (first, last int64) {
	first, last = calendar.NaturalPeriod(calendar.Day, at)
	last--
	for _, rules := range some {
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
