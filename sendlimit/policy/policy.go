package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// QuietPeriod is the longest stretch of quiet hours around a time, [From, Until).
type QuietPeriod struct {
	From, Until time.Time
	TimeZone    string         // in which they are quiet, the user's own if there is one
	Location    *time.Location // TimeZone, loaded
	Hours       string         // the line of the policy that says so, "22:00-08:00"
}

// DefaultName names the policy that applies when no other is asked for.
const DefaultName = "default"

// Policy is a named list of rules, all of which must hold, and what else is laid
// down for the messages of its users. A policy without rules is not valid: it
// would limit nothing. In JSON it is a PolicyDocument.
type Policy struct {
	Name string
	// TimeZone is the IANA zone of the calendar rules and the quiet hours; "" means
	// UTC.
	TimeZone string
	// Rules are at most one for each window in a store: see PolicyStore.Replace.
	Rules []Rule
	// UserTimeZone counts the calendar rules, and the days of alerts, in a user's
	// own zone where one is set, see UserSettings; elsewhere in TimeZone. Quiet
	// hours are always the user's own.
	UserTimeZone bool
	// QuietHours are when nothing is sent; the zero value is never.
	QuietHours QuietHours
	// Reach is how far ahead a send time may lie, 1 s to 366 days in whole seconds.
	// Where the program's own is shorter that holds; zero means the program's.
	Reach time.Duration
	// OnConflict is what becomes of a message that does not say so itself and whose
	// time is not free; "" means Refuse.
	OnConflict OnConflict
	// Categories has what is different for messages of a category.
	Categories map[string]CategoryRules
	// AlertAt are the percents of a user's daily rule, N/day or N/calendar_day, at
	// which an alert is raised, 1 to 100, ascending; nil means 80 and 100, empty
	// means never. Where there are several such rules the fullest counts.
	AlertAt []int
	// AlertTo is whom to tell of all users that reached one, together once an hour:
	// an e-mail address or an https: URL, see ValidContact; "" tells nobody. A
	// user's own contact, see UserSettings, is told of each at once.
	AlertTo string
	// Version is given by the PolicyStore, from 1 on; 0 is a policy that is not
	// stored. Two versions are the same or not, and none is the later: a program
	// that knows none begins at 1 again.
	Version int64
}

// OnConflict is what becomes of a message whose time is not free.
type OnConflict string

// What becomes of a message whose time is not free. The zero value is Refuse.
const (
	Refuse OnConflict = "refuse" // it is refused
	Shift  OnConflict = "shift"  // it takes the next free time
)

// CategoryRules are what a policy has for the messages of one category.
type CategoryRules struct {
	// Rules count the messages of the category alone, and hold beside the policy's,
	// which count those of all categories.
	Rules []Rule
	// Exempt messages, such as one-time codes, are judged by neither rules nor quiet
	// hours. They still count for the others, unless they are Uncounted.
	Exempt    bool
	Uncounted bool
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

// Parse makes a policy of rules as they are written, see ParseRule. The
// error is an *InvalidError.
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

// LargestWindow is the longest real time that one of the rules looks at, those of
// categories included: a reservation older than that no longer matters.
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
	return longest
}

// Equal reports whether two policies say the same, however they spell it. Their
// versions may differ.
func (p Policy) Equal(other Policy) bool {
	return p.Name == other.Name && cmp.Or(p.TimeZone, "UTC") == cmp.Or(other.TimeZone, "UTC") &&
		slices.Equal(p.Rules, other.Rules) && p.UserTimeZone == other.UserTimeZone &&
		p.QuietHours.Equal(other.QuietHours) && p.Reach == other.Reach &&
		cmp.Or(p.OnConflict, Refuse) == cmp.Or(other.OnConflict, Refuse) &&
		maps.EqualFunc(p.Categories, other.Categories, CategoryRules.equal) &&
		slices.Equal(p.thresholds(), other.thresholds()) && p.AlertTo == other.AlertTo
}

func (c CategoryRules) equal(other CategoryRules) bool {
	return slices.Equal(c.Rules, other.Rules) && c.Exempt == other.Exempt && c.Uncounted == other.Uncounted
}

// String lists the rules as they are written, "1/minute, 5/hour", and what else
// is not as usual. Of an AlertTo that is a URL it has the host alone.
func (p Policy) String() string {
	var s strings.Builder
	s.WriteString(JoinRules(p.Rules, ", "))
	switch zone := cmp.Or(p.TimeZone, "UTC"); {
	case p.UserTimeZone:
		fmt.Fprintf(&s, " (the user's time zone, else %s)", zone)
	case zone != "UTC":
		fmt.Fprintf(&s, " (%s)", zone)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		fmt.Fprintf(&s, ", %s %s", name, p.Categories[name])
	}
	if !p.QuietHours.IsZero() {
		fmt.Fprintf(&s, ", quiet %s", p.QuietHours)
	}
	if p.Reach != 0 {
		fmt.Fprintf(&s, ", at most %s ahead", FormatReach(p.Reach))
	}
	if p.OnConflict == Shift {
		s.WriteString(", shifted on conflict")
	}
	s.WriteString(p.unusualAlerts())
	return s.String()
}

// String is what the category has, for a sentence: "2/calendar_day", "exempt".
func (c CategoryRules) String() string {
	switch {
	case c.Exempt && c.Uncounted:
		return "exempt and not counted"
	case c.Exempt:
		return "exempt"
	}
	return JoinRules(c.Rules, " and ")
}

func JoinRules(rules []Rule, between string) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = r.String()
	}
	return strings.Join(words, between)
}

// Grace is how far in the past a send time may lie and still be taken as now.
const Grace = 5 * time.Second

// DefaultReach is how far ahead a send time may lie unless Options say
// otherwise.
const DefaultReach = 366 * 24 * time.Hour

// ruleWords are limit and window of each rule, as lua/fragments/policy.lua reads
// them.
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

// exemption is how lua/fragments/policy.lua is told that a category is exempt; ""
// if it is not.
func (c CategoryRules) Exemption() string {
	switch {
	case c.Exempt && c.Uncounted:
		return "!!"
	case c.Exempt:
		return "!"
	}
	return ""
}

// ErrUnreadableSettings is in the chain of the *UnavailableError that is returned
// for a user whose settings only a newer program can read.
var ErrUnreadableSettings = errors.New("the settings of a user can't be read")

// unreadableSettings leaves what is wrong with them out of the chain: an
// *InvalidError there would be the fault of who called.
func UnreadableSettings(err error) error {
	return &fault.UnavailableError{
		Detail: "the settings of the user in the store can't be read:" +
			" clear them and set them anew, or run the newer program that wrote them",
		Err: fmt.Errorf("%w: %s", ErrUnreadableSettings, err.Error()),
	}
}
