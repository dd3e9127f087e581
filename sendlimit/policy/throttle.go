package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// MaxThrottle is the maximum limit of a Throttle.
const MaxThrottle = 1_000_000

// Throttle limits how many messages of all users together have a send time in one natural minute or
// hour of UTC. The zero value means no limit. A message counts in the period of its send time, see
// package quota.
type Throttle struct {
	Limit  int             // 1 to MaxThrottle
	Period calendar.Period // calendar.Minute or calendar.Hour
}

const wantThrottle = "1 to 1000000 a minute or an hour, such as 500/minute or 10000/hour"

// ParseThrottle reads "500/minute" or "10000/hour"; "" means no limit. The error is a
// *fault.InvalidError for the field "throttle".
func ParseThrottle(s string) (Throttle, error) {
	if s == "" {
		return Throttle{}, nil
	}
	number, name, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(number)
	t := Throttle{Limit: n, Period: calendar.Minute}
	if name == calendar.Hour.String() {
		t.Period = calendar.Hour
	}
	if err != nil || t.IsZero() || t.validate("throttle") != nil || t.String() != s {
		return Throttle{}, &fault.InvalidError{Field: "throttle", Value: s, Want: wantThrottle}
	}
	return t, nil
}

// IsZero reports whether there is no limit.
func (t Throttle) IsZero() bool { return t == Throttle{} }

// String returns the form that ParseThrottle reads.
func (t Throttle) String() string {
	if t.IsZero() {
		return ""
	}
	return strconv.Itoa(t.Limit) + "/" + t.Period.String()
}

func (t Throttle) validate(field string) error {
	if t.IsZero() || t.Limit >= 1 && t.Limit <= MaxThrottle && (t.Period == calendar.Minute || t.Period == calendar.Hour) {
		return nil
	}
	return &fault.InvalidError{Field: field, Value: t.String(), Want: wantThrottle}
}

// Around returns the period that contains a time.
func (t Throttle) Around(at time.Time) calendar.Stretch {
	length := time.Minute
	if t.Period == calendar.Hour {
		length = time.Hour
	}
	from := at.UTC().Truncate(length)
	return calendar.Stretch{From: from, Until: from.Add(length)}
}

// NamedThrottle is a throttle with the name of its counters, see Policy.ThrottleOf.
type NamedThrottle struct {
	Throttle

	Name string // 1 to 160 of a-z 0-9 _ - ~
}

// ThrottleOf returns the throttle of a category, the zero NamedThrottle for none. Its name differs
// from those of other policies, categories and periods.
func (p Policy) ThrottleOf(category string) NamedThrottle {
	t := p.Categories[category].Throttle
	if t.IsZero() {
		return NamedThrottle{}
	}
	return NamedThrottle{Throttle: t, Name: p.Name + "~" + category + "~" + t.Period.String()[:1]}
}
