package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Bounds of a rule; the longest window is calendar.MaxWindow.
const (
	MinLimit  = 1
	MaxLimit  = 1000
	MinWindow = time.Second
)

// Rule allows at most Limit messages per window.
//
// A sliding rule has a Window: no half-open interval [x, x+Window), wherever it starts, may have
// more than Limit of a user's send times. A calendar rule has a Period: no such period in the
// policy's time zone may have more. The zero Rule is not valid.
type Rule struct {
	Limit  int
	Window time.Duration   // of a sliding rule; whole seconds
	Period calendar.Period // of a calendar rule
}

// ParseRule reads a rule: "5/hour" and "5/90s" slide, "10/calendar_day" counts calendar days. The
// error is a *fault.InvalidError for the field "rule".
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
	if name, natural := strings.CutPrefix(window, "calendar_"); natural {
		r.Period = calendar.ParsePeriod(name)
		if r.Period == calendar.NoPeriod {
			return Rule{}, invalidRule(s)
		}
	} else if r.Window, err = parseWindow(window); err != nil {
		return Rule{}, invalidRule(s)
	}
	return r, r.Validate()
}

func parseWindow(s string) (time.Duration, error) {
	switch s {
	case "minute":
		return time.Minute, nil
	case "hour":
		return time.Hour, nil
	case "day":
		return calendar.DayLong, nil
	case "week":
		return calendar.WeekLong, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("days of a window: %w", err)
		}
		return time.Duration(n) * calendar.DayLong, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("length of a window: %w", err)
	}
	return d, nil
}

func invalidRule(s string) *fault.InvalidError {
	return &fault.InvalidError{
		Field: "rule", Value: s,
		Want: "a rule such as 5/hour, 3/90s or 10/calendar_day" +
			" (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)",
	}
}

// Validate checks the rule against its bounds. The error is a *fault.InvalidError for the field
// "rule".
func (r Rule) Validate() error {
	bad := func(want string) error {
		return &fault.InvalidError{Field: "rule", Value: r.String(), Want: want}
	}
	switch {
	case r.Limit < MinLimit || r.Limit > MaxLimit:
		return bad(fmt.Sprintf("a limit of %d to %d", MinLimit, MaxLimit))
	case r.Period > calendar.Month || (r.Period != calendar.NoPeriod && r.Window != 0):
		return bad("either a sliding window or a natural period")
	case r.Period != calendar.NoPeriod:
		return nil
	case r.Window < MinWindow || r.Window > calendar.MaxWindow || r.Window%time.Second != 0:
		return bad("a window of whole seconds, 1 s to 366 days")
	}
	return nil
}

// Calendar reports whether the rule is a calendar rule.
func (r Rule) Calendar() bool { return r.Period != calendar.NoPeriod }

// SameWindow reports whether two rules have the same window or period. Their limits may differ.
func (r Rule) SameWindow(other Rule) bool {
	return r.Window == other.Window && r.Period == other.Period
}

// String returns the rule in its canonical form: "60/minute" for "60/60s".
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
	case w == calendar.DayLong:
		return "day"
	case w == calendar.WeekLong:
		return "week"
	default:
		return FormatReach(w)
	}
}

// Longest returns the longest time that the rule's window or period can last.
func (r Rule) Longest() time.Duration {
	if r.Calendar() {
		return r.Period.Longest()
	}
	return r.Window
}

// MarshalText returns String: a rule is a string in JSON.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rule with ParseRule.
func (r *Rule) UnmarshalText(text []byte) error {
	parsed, err := ParseRule(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}
