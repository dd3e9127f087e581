package sendlimit

import (
	"fmt"
	"strings"
	"time"
)

// DefaultPolicyName names the policy that applies when no other is asked for.
const DefaultPolicyName = "default"

// Policy is a named list of rules, all of which must hold. TimeZone is the
// IANA zone of the calendar rules; "" means UTC. A policy without rules is
// not valid: it would limit nothing.
type Policy struct {
	Name     string `json:"name"`
	TimeZone string `json:"time_zone,omitempty"`
	Rules    []Rule `json:"rules"`
	// AlertAt are the percents of a user's daily rule, N/day or N/calendar_day, at
	// which an alert is raised, 1 to 100, ascending; nil means 80 and 100, empty
	// means never. Where there are several such rules the fullest counts.
	AlertAt []int `json:"alert_at,omitzero"`
	// AlertTo is whom to tell of all users that reached one, together once an hour:
	// an e-mail address or an https: URL, see ValidContact; "" tells nobody. A
	// user's own contact, see UserSettings, is told of each at once.
	AlertTo string `json:"alert_to,omitempty"`
}

// DefaultPolicy returns 1/minute, 5/hour and 10/calendar_day in UTC.
func DefaultPolicy() Policy {
	return Policy{
		Name: DefaultPolicyName,
		Rules: []Rule{
			{Limit: 1, Window: time.Minute},
			{Limit: 5, Window: time.Hour},
			{Limit: 10, Period: Day},
		},
	}
}

// ParsePolicy makes a policy of rules as they are written, see ParseRule. The
// error is an *InvalidError.
func ParsePolicy(name, timeZone string, rules ...string) (Policy, error) {
	p := Policy{Name: name, TimeZone: timeZone, Rules: make([]Rule, len(rules))}
	for i, s := range rules {
		r, err := ParseRule(s)
		if err != nil {
			return Policy{}, err
		}
		p.Rules[i] = r
	}
	return p, p.Validate()
}

// Validate says whether the policy has a name and rules, each valid, no two
// equal, and a time zone that exists. The error is an *InvalidError.
func (p Policy) Validate() error {
	if !validPolicyName(p.Name) {
		return &InvalidError{Field: "policy", Value: p.Name, Want: "a name of 1 to 64 of a-z 0-9 _ -"}
	}
	if len(p.Rules) == 0 {
		return &InvalidError{Field: "rules", Value: "[]", Want: "at least one rule such as 5/hour"}
	}
	seen := make(map[Rule]bool, len(p.Rules))
	for _, r := range p.Rules {
		if err := r.Validate(); err != nil {
			return err
		}
		if seen[r] {
			return &InvalidError{Field: "rules", Value: r.String(), Want: "each rule once"}
		}
		seen[r] = true
	}
	if err := p.validateAlerts(); err != nil {
		return err
	}
	_, err := p.location()
	return err
}

func (p Policy) location() (*time.Location, error) {
	if p.TimeZone == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(p.TimeZone)
	if err != nil || p.TimeZone == "Local" {
		return nil, &InvalidError{
			Field: "time_zone", Value: p.TimeZone,
			Want: "an IANA time zone such as Europe/Berlin",
		}
	}
	return loc, nil
}

// LargestWindow is the longest real time that one of the rules looks at: a
// reservation older than that no longer matters.
func (p Policy) LargestWindow() time.Duration {
	var longest time.Duration
	for _, r := range p.Rules {
		longest = max(longest, r.longest())
	}
	return longest
}

// String lists the rules as they are written, "1/minute, 5/hour", and what else
// is not as usual. Of an AlertTo that is a URL it has the host alone.
func (p Policy) String() string {
	rules := make([]string, len(p.Rules))
	for i, r := range p.Rules {
		rules[i] = r.String()
	}
	s := strings.Join(rules, ", ")
	if p.TimeZone != "" && p.TimeZone != "UTC" {
		s += fmt.Sprintf(" (%s)", p.TimeZone)
	}
	return s + p.unusualAlerts()
}

func validPolicyName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
