package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// UserSettings has what is set for one user. The zero value applies the default policy.
type UserSettings struct {
	// Contact receives the user's quota alerts: an e-mail address or an https: URL, see
	// ValidContact; "" means nobody.
	Contact string
	// Policy is the name of the user's policy; "" means the default policy.
	Policy string
	// Limits replace the rules of that policy with the same window or period:
	// 20/calendar_day replaces 10/calendar_day. Rules of categories stay. A limit that
	// replaces no rule, since the policy lost it later, applies beside the policy's
	// rules; see Policy.CheckSettings.
	Limits []Rule
	// TimeZone is the user's IANA time zone; "" means the policy's. Quiet hours use it,
	// and so do the calendar rules of a policy with UserTimeZone.
	TimeZone string
	// Blocked refuses every submit and move for the user. Messages accepted before
	// are still sent.
	Blocked bool
	// Version is a token that the store replaces with each change; "" if nothing is
	// set. It is ignored when settings are stored.
	Version string
}

// Equal reports whether two settings are the same. Their versions may differ.
func (s UserSettings) Equal(other UserSettings) bool {
	return s.Contact == other.Contact && s.Policy == other.Policy && slices.Equal(s.Limits, other.Limits) &&
		s.TimeZone == other.TimeZone && s.Blocked == other.Blocked
}

// Validate checks each setting. It does not know the policies: see Policy.CheckSettings
// for limits that replace no rule. The error is a *fault.InvalidError.
func (s UserSettings) Validate() error {
	if s.Contact != "" {
		if err := ValidContact(s.Contact); err != nil {
			return err
		}
	}
	if s.Policy != "" && !keyspace.ValidName(s.Policy) {
		return &fault.InvalidError{Field: "policy", Value: s.Policy, Want: keyspace.WantName}
	}
	if err := s.validateLimits(); err != nil {
		return err
	}
	_, err := calendar.ParseTimeZone(s.TimeZone)
	return err
}

func (s UserSettings) validateLimits() error {
	if len(s.Limits) > MaxRules {
		return &fault.InvalidError{
			Field: "limits", Says: fmt.Sprintf("there are %d limits: a user has at most %d", len(s.Limits), MaxRules),
		}
	}
	for i, limit := range s.Limits {
		if err := limit.Validate(); err != nil {
			return fault.InField(err, "limits")
		}
		if slices.ContainsFunc(s.Limits[:i], limit.SameWindow) {
			return &fault.InvalidError{Field: "limits", Value: limit.String(), Says: fmt.Sprintf("the limit %s has the window of another limit: give one for each window", limit)}
		}
	}
	return nil
}

// For returns the policy for a user with these settings: with the user's limits, and
// with the time zone in which its calendar rules count.
func (p Policy) For(s UserSettings) Policy {
	if p.UserTimeZone {
		p.TimeZone = cmp.Or(s.TimeZone, p.TimeZone)
	}
	if len(s.Limits) == 0 {
		return p
	}
	rules := make([]Rule, 0, len(p.Rules))
	for _, r := range p.Rules {
		if i := slices.IndexFunc(s.Limits, r.SameWindow); i >= 0 {
			r = s.Limits[i]
		}
		if !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	p.Rules = append(rules, p.Beside(s)...)
	return p
}

// Beside returns the limits of a user that replace no rule of the policy. They apply beside
// its rules: a change of the policy must not end what was promised to a user.
func (p Policy) Beside(s UserSettings) []Rule {
	var beside []Rule
	for _, limit := range s.Limits {
		if !slices.ContainsFunc(p.Rules, limit.SameWindow) {
			beside = append(beside, limit)
		}
	}
	return beside
}

// QuietZone returns the time zone of the quiet hours of a user with these settings: the
// user's own, or else the policy's; "" means UTC.
func (p Policy) QuietZone(s UserSettings) string { return cmp.Or(s.TimeZone, p.TimeZone) }

// CheckSettings checks that each limit of a user replaces a rule of the policy. The error
// is a *fault.InvalidError for the field "limits".
func (p Policy) CheckSettings(s UserSettings) error {
	for _, limit := range s.Limits {
		if !slices.ContainsFunc(p.Rules, limit.SameWindow) {
			return &fault.InvalidError{
				Field: "limits", Value: limit.String(),
				Says: fmt.Sprintf("the limit %s replaces no rule, as policy %s has none of its window: it has %s", limit, p.Name, JoinRules(p.Rules, ", ")),
			}
		}
	}
	return nil
}

// The fields of a user's settings in the store, in the order of
// lua/setting/settings_change.lua. The version comes last.
const (
	fieldContact = "contact"
	fieldPolicy  = "policy"
	fieldLimits  = "limits"
	fieldZone    = "zone"
	fieldBlocked = "blocked"
	fieldVersion = "v"
)

// Stored returns the values of the fields in the store, without the version.
func (s UserSettings) Stored() []any {
	blocked := ""
	if s.Blocked {
		blocked = "1"
	}
	return []any{s.Contact, s.Policy, JoinRules(s.Limits, " "), s.TimeZone, blocked}
}

// ReadSettings reads the fields of the store. The error is a *fault.InvalidError for a
// value that only a newer program understands.
func ReadSettings(values map[string]string) (UserSettings, error) {
	s := UserSettings{
		Contact: values[fieldContact], Policy: values[fieldPolicy], TimeZone: values[fieldZone],
		Blocked: values[fieldBlocked] != "", Version: values[fieldVersion],
	}
	var err error
	if s.Limits, err = parseRules(strings.Fields(values[fieldLimits])); err != nil {
		return UserSettings{}, err
	}
	return s, s.Validate()
}
