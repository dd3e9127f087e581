package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// UserSettings are what is set for one user. The zero value is a user for whom
// nothing is.
type UserSettings struct {
	// Contact is where the user's quota alerts go, an e-mail address or an https:
	// URL, see ValidContact; "" for nowhere.
	Contact string
	// Policy names the policy the user's messages are judged by; "" for the one
	// that applies to everybody else.
	Policy string
	// Limits replace those rules of that policy that have the same window or
	// period, those of categories excepted: 20/calendar_day stands for
	// 10/calendar_day. One that replaces none has no effect; see
	// Policy.CheckSettings.
	Limits []Rule
	// TimeZone is the user's IANA time zone, in which quiet hours are, and the
	// calendar rules of a policy with UserTimeZone; "" for that of the policy.
	TimeZone string
	// Blocked refuses whatever is submitted for the user, or moved. What was
	// accepted before is still sent.
	Blocked bool
	// Version is a random token, a new one for each change; "" where nothing is set.
	// The store sets it and ignores what it is given.
	Version string
}

// Equal reports whether the same is set. The versions may differ.
func (s UserSettings) Equal(other UserSettings) bool {
	return s.Contact == other.Contact && s.Policy == other.Policy && slices.Equal(s.Limits, other.Limits) &&
		s.TimeZone == other.TimeZone && s.Blocked == other.Blocked
}

// Validate says whether each setting is allowed as it is. Whether the policy
// exists, and has what the limits replace, is to be seen from the policies: see
// Policy.CheckSettings. The error is an *InvalidError.
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
			Field: "limits", Value: strconv.Itoa(len(s.Limits)) + " limits",
			Want: fmt.Sprintf("at most %d limits", MaxRules),
		}
	}
	for i, limit := range s.Limits {
		if err := limit.Validate(); err != nil {
			return fault.InField(err, "limits")
		}
		if slices.ContainsFunc(s.Limits[:i], limit.SameWindow) {
			return &fault.InvalidError{Field: "limits", Value: limit.String(), Want: "one limit for each window"}
		}
	}
	return nil
}

// For returns the policy as it is for a user with these settings: with the limits
// in place of its own, and the time zone in which its calendar rules count. A
// window that several rules limit has only the user's.
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
	p.Rules = rules
	return p
}

// QuietZone is the time zone in which the quiet hours are for a user with these
// settings: the user's own, or else the policy's; "" for UTC.
func (p Policy) QuietZone(s UserSettings) string { return cmp.Or(s.TimeZone, p.TimeZone) }

// CheckSettings says whether each limit of a user of the policy replaces one of
// its rules. The error is an *InvalidError for the field "limits".
func (p Policy) CheckSettings(s UserSettings) error {
	for _, limit := range s.Limits {
		if !slices.ContainsFunc(p.Rules, limit.SameWindow) {
			return &fault.InvalidError{
				Field: "limits", Value: limit.String(),
				Want: fmt.Sprintf("another limit for a rule of policy %s: %s", p.Name, JoinRules(p.Rules, ", ")),
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

// stored is what the store has of each field but the version.
func (s UserSettings) Stored() []any {
	blocked := ""
	if s.Blocked {
		blocked = "1"
	}
	return []any{s.Contact, s.Policy, JoinRules(s.Limits, " "), s.TimeZone, blocked}
}

// ReadSettings reads the fields that the store has. The error is an
// *InvalidError for what only a newer program understands.
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
