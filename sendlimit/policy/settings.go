package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// UserSettings are the settings of one user. The zero value applies the default policy.
type UserSettings struct {
	// Contact receives the user's quota alerts: an e-mail address or an https: URL, see
	// ValidContact; "" means nobody.
	Contact string
	// Policy is the name of the user's policy; "" means the default policy.
	Policy string
	// Limits replace the rules of that policy with the same window or period: 20/calendar_day
	// replaces 10/calendar_day. Rules of categories stay. If the policy later loses the rule that a
	// limit replaces, the limit applies in addition to the policy's rules; see
	// Policy.CheckSettings.
	Limits []Rule
	// Categories are the user's own rules of categories, by name. They replace the rules of the
	// policy's category with the same windows, and apply in addition to the others. They do not
	// apply to a category that is exempt, or that the policy refuses.
	Categories map[string][]Rule
	// OptOut are categories that the user does not want. AllCategories stands for all messages but
	// those of categories that the policy exempts, without its dated changes. Their messages are
	// refused, and messages accepted before are dropped at their send time.
	OptOut []string
	// QuietHours apply in addition to those of the policy and its categories, but not to exempt
	// messages. Messages accepted before for times in them are sent afterwards, as late ones.
	QuietHours WeekHours
	// TimeZone is the user's IANA time zone; "" means the policy's. Quiet hours use it, and so do
	// the calendar rules of a policy with UserTimeZone.
	TimeZone string
	// Blocked refuses every submit and move for the user. Messages accepted before are dropped at
	// their send times.
	Blocked bool
	// DoNotDisturbUntil is a time before which nothing is sent to the user, except exempt messages;
	// zero for none. Messages accepted for earlier times are sent afterwards, as late ones.
	DoNotDisturbUntil time.Time
	// BestHours are drawn from by PreferBest. No rule depends on them.
	BestHours BestHours
	// Then is what becomes of scheduled messages that do not fit these settings; "" if nobody asked.
	// ThenShift and ThenDrop are set until that is done.
	Then Then
	// Rezoned is set after a change of TimeZone, until the messages that follow it have moved. It is
	// ignored when settings are stored.
	Rezoned bool
	// Former is the window of the user's own rules that were replaced. It is ignored when settings
	// are stored.
	Former FormerWindow
	// Version is a token that the store replaces with each change; "" if there are no settings. It
	// is ignored when settings are stored.
	Version string
}

// Then says what becomes of scheduled messages that do not fit changed settings of their user.
// Without one they stay where they are, and the gate holds those in the user's own quiet hours.
type Then string

// All values of Then.
const (
	ThenKeep  Then = "keep"  // they are sent at their times, even in the user's own quiet hours
	ThenShift Then = "shift" // each moves to its next free time, and is dropped if there is none
	ThenDrop  Then = "drop"  // they are dropped
)

// Pending reports whether messages are to be moved or dropped.
func (t Then) Pending() bool { return t == ThenShift || t == ThenDrop }

// Follows reports whether scheduled messages are still to follow a change of the settings.
func (s UserSettings) Follows() bool { return s.Then.Pending() || s.Rezoned }

// Equal reports whether two settings are the same. Their versions, and what becomes of scheduled
// messages, may differ.
func (s UserSettings) Equal(other UserSettings) bool {
	return s.Contact == other.Contact && s.Policy == other.Policy && slices.Equal(s.Limits, other.Limits) &&
		maps.EqualFunc(s.Categories, other.Categories, slices.Equal[[]Rule]) && slices.Equal(s.OptOut, other.OptOut) &&
		s.QuietHours.Equal(other.QuietHours) && s.TimeZone == other.TimeZone && s.Blocked == other.Blocked &&
		s.DoNotDisturbUntil.Equal(other.DoNotDisturbUntil) && slices.Equal(s.BestHours, other.BestHours)
}

// Validate checks each setting. It does not know the policies: Policy.CheckSettings finds limits
// that replace no rule. The error is a *fault.InvalidError, or fault.InvalidErrors for several
// settings.
func (s UserSettings) Validate() error {
	var wrong fault.InvalidErrors
	if s.Contact != "" {
		wrong.Add(ValidContact(s.Contact))
	}
	if s.Policy != "" && !keyspace.ValidName(s.Policy) {
		wrong.Add(&fault.InvalidError{Field: "policy", Value: s.Policy, Want: keyspace.WantName})
	}
	wrong.Add(validateLimits(s.Limits, "limits"))
	s.validateCategories(&wrong)
	wrong.Add(s.validateOptOut())
	_, err := calendar.ParseTimeZone(s.TimeZone)
	wrong.Add(err)
	if year := s.DoNotDisturbUntil.UTC().Year(); !s.DoNotDisturbUntil.IsZero() && (year < 1970 || year > 9999) {
		wrong.Add(&fault.InvalidError{
			Field: "do_not_disturb_until", Value: s.DoNotDisturbUntil.Format(time.RFC3339), Want: "a time in the years 1970 to 9999",
		})
	}
	wrong.Add(checkWeights(s.BestHours))
	if s.Then != "" && s.Then != ThenKeep && !s.Then.Pending() {
		wrong.Add(&fault.InvalidError{Field: "then", Value: string(s.Then), Want: "keep, shift or drop"})
	}
	return wrong.Err()
}

// validateLimits checks a user's rules: one for each window. Errors name the field.
func validateLimits(limits []Rule, field string) error {
	if len(limits) > MaxRules {
		return &fault.InvalidError{
			Field: field, Says: fmt.Sprintf("there are %d %s: a user has at most %d", len(limits), field, MaxRules),
		}
	}
	for i, limit := range limits {
		if err := limit.Validate(); err != nil {
			return fault.InField(err, field)
		}
		if slices.ContainsFunc(limits[:i], limit.SameWindow) {
			return &fault.InvalidError{Field: field, Value: limit.String(), Says: fmt.Sprintf("the limit %s has the same window as another limit: give one for each window", limit)}
		}
	}
	return nil
}

// validateCategories checks the user's own rules of categories. If there are too many, it checks
// only the number.
func (s UserSettings) validateCategories(wrong *fault.InvalidErrors) {
	if n := len(s.Categories); n > MaxCategories {
		wrong.Add(tooManyCategories("categories", n))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		field := "categories." + name
		switch {
		case !keyspace.ValidName(name):
			wrong.Add(&fault.InvalidError{Field: "categories", Value: name, Want: keyspace.WantName})
		case len(s.Categories[name]) == 0:
			wrong.Add(&fault.InvalidError{Field: field, Value: "[]", Says: field + " needs at least one rule, such as 1/calendar_week"})
		default:
			wrong.Add(validateLimits(s.Categories[name], field))
		}
	}
}

func tooManyCategories(field string, n int) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Says: fmt.Sprintf("%s names %d categories: a user has at most %d", field, n, MaxCategories)}
}

// validateOptOut checks the categories that the user does not want.
func (s UserSettings) validateOptOut() error {
	if n := len(s.OptOut); n > MaxCategories {
		return tooManyCategories("opt_out", n)
	}
	for i, name := range s.OptOut {
		if !keyspace.ValidName(name) {
			return &fault.InvalidError{Field: "opt_out", Value: name, Want: keyspace.WantName}
		}
		if slices.Contains(s.OptOut[:i], name) {
			return &fault.InvalidError{Field: "opt_out", Value: name, Says: fmt.Sprintf("opt_out names the category %s twice", name)}
		}
	}
	return nil
}

// AllCategories stands for all categories in UserSettings.OptOut. No category has this name.
const AllCategories = "all"

// OptedOut reports whether a user with these settings does not want messages of a category, "" for
// none.
func (p Policy) OptedOut(s UserSettings, category string) bool {
	return category != "" && slices.Contains(s.OptOut, category) || slices.Contains(s.OptOut, AllCategories) && !p.Categories[category].Exempt
}

// For returns the policy for a user with these settings: with the user's limits, and with the time
// zone of its calendar rules.
func (p Policy) For(s UserSettings) Policy {
	if p.UserTimeZone {
		p.TimeZone = cmp.Or(s.TimeZone, p.TimeZone)
	}
	p.Rules = withOwn(p.Rules, s.Limits)
	if len(s.Categories) == 0 {
		return p
	}
	p.UnknownCategories = p.unknownCategories() // of the policy, not of the user's categories
	own := maps.Clone(p.Categories)
	if own == nil {
		own = make(map[string]CategoryRules, len(s.Categories))
	}
	for name, limits := range s.Categories {
		if c := own[name]; !c.Exempt && !p.RefusesCategory(name) {
			c.Rules = withOwn(c.Rules, limits)
			own[name] = c
		}
	}
	p.Categories = own
	return p
}

// withOwn returns the rules, each replaced by a user's own rule with the same window, and then the
// user's other rules.
func withOwn(rules, own []Rule) []Rule {
	if len(own) == 0 {
		return rules
	}
	all := make([]Rule, 0, len(rules)+len(own))
	for _, r := range rules {
		if i := slices.IndexFunc(own, r.SameWindow); i >= 0 {
			r = own[i]
		}
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return append(all, beside(rules, own)...)
}

func beside(rules, own []Rule) []Rule {
	return slices.DeleteFunc(slices.Clone(own), func(r Rule) bool { return slices.ContainsFunc(rules, r.SameWindow) })
}

// Beside returns the limits of a user that replace no rule of the policy. They apply in addition to
// its rules: a change of the policy must not end what was promised to a user.
func (p Policy) Beside(s UserSettings) []Rule { return beside(p.Rules, s.Limits) }

// QuietZone returns the time zone of the quiet hours of a user with these settings: the user's own,
// or else the policy's; "" means UTC.
func (p Policy) QuietZone(s UserSettings) string { return cmp.Or(s.TimeZone, p.TimeZone) }

// CheckSettings checks a user's settings against the policy: each limit replaces a rule, the policy
// judges each category that has own rules, and the quiet hours of both leave a time of the week.
// The error is a *fault.InvalidError.
func (p Policy) CheckSettings(s UserSettings) error {
	for _, limit := range s.Limits {
		if !slices.ContainsFunc(p.Rules, limit.SameWindow) {
			return &fault.InvalidError{
				Field: "limits", Value: limit.String(),
				Says: fmt.Sprintf("the limit %s replaces no rule, as policy %s has no rule with this window: it has %s", limit, p.Name, JoinRules(p.Rules, ", ")),
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		says := ""
		switch {
		case p.Categories[name].Exempt:
			says = fmt.Sprintf("category %s is exempt under policy %s: no rule applies to it", name, p.Name)
		case p.RefusesCategory(name):
			says = fmt.Sprintf("policy %s refuses category %s: it has no rules", p.Name, name)
		default:
			continue
		}
		return &fault.InvalidError{Field: "categories", Value: name, Says: says}
	}
	if s.QuietHours.IsZero() {
		return nil
	}
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(p.Categories))...) {
		if p.Quiet(name, s.QuietHours).Always() {
			return &fault.InvalidError{
				Field: "quiet_hours", Value: s.QuietHours.String(),
				Says: fmt.Sprintf("the quiet hours %s leave no time of the week together with those of policy %s: nothing could ever be sent", s.QuietHours, p.Name),
			}
		}
	}
	return nil
}
