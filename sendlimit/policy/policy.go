package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// QuietPeriod is the longest quiet interval [From, Until) that contains a time.
type QuietPeriod struct {
	From, Until time.Time
	TimeZone    string         // of the quiet hours: the user's own, if set
	Location    *time.Location // TimeZone, loaded
	Hours       string         // the line that makes it quiet, see Quiet.Lines: "22:00-08:00"
}

// DefaultName is the name of the policy of users without a policy of their own.
const DefaultName = "default"

// Policy is a named list of rules, which all apply, with quiet hours, categories and alerts. A
// policy without rules is not valid. In JSON it is a Document.
type Policy struct {
	Name string
	// TimeZone is the IANA zone of the calendar rules and the quiet hours; "" means UTC.
	TimeZone string
	// Rules are at most one for each window in a store: see settings.Policies.Replace.
	Rules []Rule
	// UserTimeZone counts calendar rules, and the days of alerts, in the user's own zone, if one is
	// set in UserSettings. Quiet hours always use that zone.
	UserTimeZone bool
	// QuietHours are the hours of the week at which nothing is sent.
	QuietHours WeekHours
	// Only are the only hours of the week at which anything is sent; none means all.
	Only WeekHours
	// Blackouts are dates on which nothing is sent. They may name Calendars, which are lists of
	// dates.
	Blackouts Blackouts
	Calendars map[string]Blackouts
	// Reach is how far ahead a send time may be, 1 s to 366 days in whole seconds. Zero means the
	// program's own reach, which also applies if it is shorter.
	Reach time.Duration
	// OnConflict applies to messages that do not set it themselves; "" means Refuse.
	OnConflict OnConflict
	// ShiftSpread spreads the messages that shift out of quiet times over the time after their end,
	// up to MaxShiftSpread in whole seconds, so that they do not all get its first moment. Each
	// message has a fixed delay for each such end, by its account, user and id. The delay is shorter
	// than the stretch until the next quiet time, and keeps to Request.ShiftUntil. It is left out if
	// no other time is free. Zero spreads nothing.
	ShiftSpread time.Duration
	// Late is how long ago the send time of a message may have passed when it is submitted, up to
	// MaxLate in whole seconds. Then it is sent now. Zero refuses it. A message may say otherwise.
	Late time.Duration
	// Categories has the rules of categories, by name.
	Categories map[string]CategoryRules
	// UnknownCategories says whether messages are accepted whose category is not in Categories: a
	// mistyped name would bypass the rules of the category. "" means Refuse if there are
	// Categories, else Allow. Messages without a category are always accepted.
	UnknownCategories UnknownCategories
	// AccountShare is the percentage of each rule that one account may use up for a user where
	// several accounts are active, rounded up to a whole message: 1 to 99; 0 for all. It is judged
	// when a message is submitted or moved.
	AccountShare int
	// AlertAt are the percents of a user's daily rule, N/day or N/calendar_day, at which an alert
	// is raised: 1 to 100, ascending. Nil means 80 and 100, empty means never. If there are several
	// such rules, the fullest counts.
	AlertAt []int
	// AlertTo receives one alert an hour about all users that reached one: an e-mail address or an
	// https: URL, see ValidContact; "" means nobody. A user's own contact, see UserSettings,
	// receives an alert at once.
	AlertTo string
	// Changes apply to the send times of their dates, at most one to each. The search for a free
	// time uses the rules of each time that it looks at.
	Changes []DatedChange
	// Version is given by the store; 0 means that the policy is not stored. Compare versions only
	// for equality.
	Version int64
}

// OnConflict says what happens to a message whose time is not free.
type OnConflict string

// Values of OnConflict; "" means Refuse.
const (
	Refuse OnConflict = "refuse" // it is refused
	Shift  OnConflict = "shift"  // it takes the next free time
)

// UnknownCategories says what happens to a message whose category is not in the policy.
type UnknownCategories string

// Values of UnknownCategories.
const (
	RefuseUnknown UnknownCategories = "refuse"
	AllowUnknown  UnknownCategories = "allow"
)

// CategoryRules are the rules of one category of messages.
type CategoryRules struct {
	// Rules count only the messages of the category. The policy's own rules, which count all
	// messages, apply as well.
	Rules []Rule
	// Exempt messages, such as one-time codes, are not judged by rules or quiet hours. They count
	// in the rules for other messages unless Uncounted is set.
	Exempt    bool
	Uncounted bool
	// QuietHours, Only and Blackouts apply to the category instead of the policy's; nil means that
	// the policy's apply. An exempt category has none.
	QuietHours *WeekHours
	Only       *WeekHours
	Blackouts  *Blackouts
	// ShiftSpread applies instead of the policy's; nil means that the policy's applies. An exempt
	// category has none.
	ShiftSpread *time.Duration
	// Throttle limits the messages of the category over all users of the policy. An exempt category
	// has none.
	Throttle Throttle
	// Accounts may submit messages of the category, at most MaxAccounts; nil means all. Messages
	// without an account are accepted.
	Accounts []string
}

// MaxAccounts is the maximum number of accounts of a category.
const MaxAccounts = 100

// Admits reports whether an account may submit messages of the category; "" for none.
func (c CategoryRules) Admits(account string) bool {
	return account == "" || len(c.Accounts) == 0 || slices.Contains(c.Accounts, account)
}

// Default returns 1/minute, 5/hour and 10/calendar_day in UTC.
func Default() Policy {
	return Policy{
		Name: DefaultName,
		Rules: []Rule{
			{Limit: 1, Window: time.Minute},
			{Limit: 5, Window: time.Hour},
			{Limit: 10, Period: calendar.Day},
		},
	}
}

// Parse returns a policy with rules as ParseRule reads them. The error is a *fault.InvalidError.
func Parse(name, timeZone string, rules ...string) (Policy, error) {
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

// LargestWindow returns the longest time that a rule looks back, including rules of categories and
// of dated changes. An older reservation no longer matters.
func (p Policy) LargestWindow() time.Duration {
	var longest time.Duration
	for _, r := range p.Rules {
		longest = max(longest, r.Longest())
	}
	for _, category := range p.Categories {
		for _, r := range category.Rules {
			longest = max(longest, r.Longest())
		}
	}
	for _, c := range p.Changes {
		longest = max(longest, p.During(c).LargestWindow())
	}
	return longest
}

// Keeps returns how long after its time a reservation counts.
func (p Policy) Keeps() time.Duration { return p.LargestWindow() + Grace }

// MaxKept is the maximum of Keeps over all policies.
const MaxKept = calendar.MaxWindow + Grace

// unknownCategories returns UnknownCategories, with the default applied.
func (p Policy) unknownCategories() UnknownCategories {
	switch {
	case p.UnknownCategories != "":
		return p.UnknownCategories
	case len(p.Categories) > 0 || slices.ContainsFunc(p.Changes, func(c DatedChange) bool { return len(c.Categories) > 0 }):
		return RefuseUnknown
	default:
		return AllowUnknown
	}
}

// RefusesCategory reports whether messages of a category are refused because neither the policy nor
// one of its Changes names it.
func (p Policy) RefusesCategory(category string) bool {
	if category == "" || p.unknownCategories() == AllowUnknown {
		return false
	}
	_, known := p.Categories[category]
	return !known && !slices.ContainsFunc(p.Changes, func(c DatedChange) bool { _, known := c.Categories[category]; return known })
}

// Equal reports whether two policies mean the same. Versions and spelling may differ.
func (p Policy) Equal(other Policy) bool {
	return p.Name == other.Name && cmp.Or(p.TimeZone, "UTC") == cmp.Or(other.TimeZone, "UTC") &&
		slices.Equal(p.Rules, other.Rules) && p.UserTimeZone == other.UserTimeZone &&
		p.QuietHours.Equal(other.QuietHours) && p.Only.Equal(other.Only) && p.Blackouts.Equal(other.Blackouts) &&
		maps.EqualFunc(p.Calendars, other.Calendars, Blackouts.Equal) && p.Reach == other.Reach &&
		cmp.Or(p.OnConflict, Refuse) == cmp.Or(other.OnConflict, Refuse) && p.ShiftSpread == other.ShiftSpread && p.Late == other.Late &&
		maps.EqualFunc(p.Categories, other.Categories, CategoryRules.equal) &&
		p.unknownCategories() == other.unknownCategories() && p.AccountShare == other.AccountShare &&
		slices.Equal(p.thresholds(), other.thresholds()) && p.AlertTo == other.AlertTo &&
		slices.EqualFunc(p.Changes, other.Changes, DatedChange.equal)
}

func (c CategoryRules) equal(other CategoryRules) bool {
	return slices.Equal(c.Rules, other.Rules) && c.Exempt == other.Exempt && c.Uncounted == other.Uncounted &&
		equalOrNil(c.QuietHours, other.QuietHours) && equalOrNil(c.Only, other.Only) && equalOrNil(c.Blackouts, other.Blackouts) &&
		formatShiftSpread(c.ShiftSpread) == formatShiftSpread(other.ShiftSpread) && c.Throttle == other.Throttle && slices.Equal(c.Accounts, other.Accounts)
}

func equalOrNil[T interface{ Equal(other T) bool }](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return (*a).Equal(*b)
}

// Grace is how far in the past a send time may be to be accepted as now.
const Grace = 5 * time.Second

// DefaultReach is the default of how far ahead a send time may be.
const DefaultReach = 366 * 24 * time.Hour

// DefaultPlacesPerDay is the default of how many places a user may have in a day of UTC, whatever
// the rules allow; MaxPlacesPerDay is its maximum.
const (
	DefaultPlacesPerDay = 1000
	MaxPlacesPerDay     = 100_000
	// DefaultAccountPlaces is the percentage of these places that one account may have by default,
	// where several are active.
	DefaultAccountPlaces = 75
)

// RuleWords returns limit and window of each rule for lua/judge/rules.lua.
func RuleWords(rules []Rule) string {
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

// Exemption returns the mark of an exempt category for lua/judge/rules.lua; "" if it is not exempt.
func (c CategoryRules) Exemption() string {
	switch {
	case c.Exempt && c.Uncounted:
		return "!!"
	case c.Exempt:
		return "!"
	}
	return ""
}
