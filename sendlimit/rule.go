package sendlimit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of a rule. A window is a whole number of seconds, so that every
// surface (config, command line, JSON) can spell it.
const (
	MinLimit  = 1
	MaxLimit  = 1000
	MinWindow = time.Second
	MaxWindow = 366 * 24 * time.Hour
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Period is a natural period of the calendar. The zero value, NoPeriod, marks
// a sliding rule.
type Period uint8

// The natural periods, from the shortest to the longest. A week is an ISO
// week: it starts on Monday.
const (
	NoPeriod Period = iota
	Minute
	Hour
	Day
	Week
	Month
)

var periodNames = [...]string{"", "minute", "hour", "day", "week", "month"} //nolint:gochecknoglobals // a constant table

// String returns the period's name as rules spell it, "day" for Day.
func (p Period) String() string {
	if int(p) < len(periodNames) {
		return periodNames[p]
	}
	return "period(" + strconv.Itoa(int(p)) + ")"
}

// clockChange is the most that clocks are put back at once: an hour, but for
// Antarctica/Troll.
const clockChange = 2 * time.Hour

// longest is the longest the period can really last, clock changes included.
func (p Period) longest() time.Duration {
	switch p {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return day + clockChange
	case Week:
		return week + clockChange
	case Month:
		return 31*day + clockChange
	case NoPeriod:
	}
	return 0
}

// Rule allows at most Limit messages per window.
//
// A sliding rule (Period is NoPeriod) holds when no half-open interval
// [x, x+Window), wherever it starts, has more than Limit of a user's send
// times. A calendar rule (Window is zero) holds when no natural Period of the
// policy's time zone has more. The zero Rule is not valid.
type Rule struct {
	Limit  int
	Window time.Duration // of a sliding rule; whole seconds
	Period Period        // of a calendar rule
}

// ParseRule reads a rule as it is written everywhere: "5/hour" and "5/90s"
// slide, "10/calendar_day" counts natural days. The error is an *InvalidError
// for the field "rule".
func ParseRule(s string) (Rule, error) {
	limit, window, found := strings.Cut(s, "/")
	if !found {
		return Rule{}, invalidRule(s)
	}
	n, err := strconv.Atoi(limit)
	if err != nil || strconv.Itoa(n) != limit {
		return Rule{}, invalidRule(s)
	}
	r := Rule{Limit: n}
	if name, calendar := strings.CutPrefix(window, "calendar_"); calendar {
		r.Period = parsePeriod(name)
		if r.Period == NoPeriod {
			return Rule{}, invalidRule(s)
		}
	} else if r.Window, err = parseWindow(window); err != nil {
		return Rule{}, invalidRule(s)
	}
	return r, r.Validate()
}

func parsePeriod(name string) Period {
	for p := Minute; p <= Month; p++ {
		if periodNames[p] == name {
			return p
		}
	}
	return NoPeriod
}

func parseWindow(s string) (time.Duration, error) {
	switch s {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return day, nil
	case "week":
		return week, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("days of a window: %w", err)
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("length of a window: %w", err)
	}
	return d, nil
}

func invalidRule(s string) *InvalidError {
	return &InvalidError{
		Field: "rule", Value: s,
		Want: "a rule such as 5/hour, 3/90s or 10/calendar_day" +
			" (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)",
	}
}

// Validate says whether the rule is within the bounds above. The error is an
// *InvalidError for the field "rule".
func (r Rule) Validate() error {
	bad := func(want string) error {
		return &InvalidError{Field: "rule", Value: r.String(), Want: want}
	}
	switch {
	case r.Limit < MinLimit || r.Limit > MaxLimit:
		return bad(fmt.Sprintf("a limit of %d to %d", MinLimit, MaxLimit))
	case r.Period > Month || (r.Period != NoPeriod && r.Window != 0):
		return bad("either a sliding window or a natural period")
	case r.Period != NoPeriod:
		return nil
	case r.Window < MinWindow || r.Window > MaxWindow || r.Window%time.Second != 0:
		return bad("a window of whole seconds, 1 s to 366 days")
	}
	return nil
}

// Calendar reports whether the rule counts natural periods.
func (r Rule) Calendar() bool { return r.Period != NoPeriod }

// SameWindow reports whether two rules differ in the limit at most: both slide over
// as long a time, or count the same natural period.
func (r Rule) SameWindow(other Rule) bool {
	return r.Window == other.Window && r.Period == other.Period
}

// String returns the rule in the one spelling that all surfaces show:
// "60/60s" reads back as "60/minute".
func (r Rule) String() string {
	return strconv.Itoa(r.Limit) + "/" + r.windowName()
}

func (r Rule) windowName() string {
	if r.Calendar() {
		return "calendar_" + r.Period.String()
	}
	switch w := r.Window; {
	case w == time.Minute:
		return "minute"
	case w == time.Hour:
		return "hour"
	case w == day:
		return "day"
	case w == week:
		return "week"
	case w > 0 && w%day == 0:
		return strconv.FormatInt(int64(w/day), 10) + "d"
	case w > 0 && w%time.Hour == 0:
		return strconv.FormatInt(int64(w/time.Hour), 10) + "h"
	case w > 0 && w%time.Minute == 0:
		return strconv.FormatInt(int64(w/time.Minute), 10) + "m"
	case w > 0 && w%time.Second == 0:
		return strconv.FormatInt(int64(w/time.Second), 10) + "s"
	default:
		return w.String()
	}
}

// longest is the longest real time the rule's window can span.
func (r Rule) longest() time.Duration {
	if r.Calendar() {
		return r.Period.longest()
	}
	return r.Window
}

// MarshalText returns String, so that a rule is a string in JSON.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRule.
func (r *Rule) UnmarshalText(text []byte) error {
	parsed, err := ParseRule(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
