package sendlimit

import (
	"fmt"
	"strconv"
	"time"
)

// Bounds of counters.
const (
	MaxCounterLimit = 1_000_000_000_000 // of a Counter, and of an Event
	MaxCounters     = 16                // of one call, its event's not among them
)

// Counter allows at most Limit in each Period or Window. The zero Counter is not
// valid.
type Counter struct {
	// Name tells the counters of a key apart: 1 to 64 of a-z 0-9 _ -. One name
	// stands for one Period or Window; under another it counts anew.
	Name  string
	Limit int64 // 1 to MaxCounterLimit
	// Period is the natural period that is counted; with NoPeriod it is a
	// Window, of whole milliseconds up to MaxWindow, that begins with its first
	// use and is over when its time is, however often it is used in between.
	Period Period
	Window time.Duration
}

// Validate says whether the counter is within its bounds. The error is an
// *InvalidError for the field "counter".
func (c Counter) Validate() error {
	bad := func(want string) error {
		return &InvalidError{Field: "counter", Value: c.Name, Want: want}
	}
	switch {
	case !validName(c.Name):
		return bad("a name, 1 to 64 of a-z 0-9 _ -")
	case c.Limit < 1 || c.Limit > MaxCounterLimit:
		return bad(fmt.Sprintf("a limit of 1 to %d, not %d", MaxCounterLimit, c.Limit))
	case c.Period > Month || (c.Period == NoPeriod) == (c.Window == 0):
		return bad("either a natural period or a window")
	case c.Period != NoPeriod:
		return nil
	case c.Window < time.Millisecond || c.Window > MaxWindow || c.Window%time.Millisecond != 0:
		return bad("a window of whole milliseconds, up to 366 days, not " + c.Window.String())
	}
	return nil
}

// validName says whether a name is 1 to 64 of a-z 0-9 _ -.
func validName(name string) bool {
	return name != "" && len(name) <= 64 && onlyBytes(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")
}

// period is how lua/fragments/policy.lua is told it: ms of a window, a negative
// number for a natural period.
func (c Counter) period() int64 {
	if c.Period != NoPeriod {
		return -int64(c.Period)
	}
	return c.Window.Milliseconds()
}

// words is the counter as lua/fragments/policy.lua reads it.
func (c Counter) words() string {
	return strconv.FormatInt(c.Limit, 10) + " " + strconv.FormatInt(c.period(), 10)
}

// String says what the counter allows: "60 per minute", "5 in 90s".
func (c Counter) String() string {
	if c.Period != NoPeriod {
		return strconv.FormatInt(c.Limit, 10) + " per " + c.Period.String()
	}
	return strconv.FormatInt(c.Limit, 10) + " in " + c.Window.String()
}

// CounterUsage is a Counter and how much of it is used in the period
// [From, Until) that was judged.
type CounterUsage struct {
	Counter     Counter
	Used        int64
	From, Until time.Time
}

// Remaining is how much more the counter would take in its period: never below
// zero, though a limit that was lowered may leave it overfull.
func (u CounterUsage) Remaining() int64 { return max(u.Counter.Limit-u.Used, 0) }

// CounterAlert tells of a counter that reaches a share of its limit: a notice is
// put into the outbox in the script that counts, so that neither a crash nor two
// callers at once lose it or raise it twice.
type CounterAlert struct {
	// Counter names the one, of those the call brings itself.
	Counter string
	// At has the percents of its limit that are told of, 1 to 100, ascending.
	// Each is told of once in a period, of several reached at once the highest;
	// what is given back does not arm it again.
	At []int
	// Kind begins the notice's id, 1 to 64 of a-z 0-9 _ -, and tells whoever
	// delivers it what it is. Its subject is the call's Key.
	Kind string
	// Details is handed to whoever delivers the notice as it is.
	Details string
}

// validate checks an alert against the counters of its call, and returns which
// of them it is about.
func (a CounterAlert) validate(counters []Counter) (index int, err error) {
	index = -1
	for i, c := range counters {
		if c.Name == a.Counter {
			index = i
		}
	}
	switch {
	case index < 0:
		return 0, &InvalidError{Field: "alert.counter", Value: a.Counter, Want: "the name of one of the call's own counters"}
	case !validName(a.Kind):
		return 0, &InvalidError{Field: "alert.kind", Value: a.Kind, Want: "1 to 64 of a-z 0-9 _ -"}
	case len(a.At) == 0:
		return 0, &InvalidError{Field: "alert.at", Value: "[]", Want: "percents, such as 80, 100"}
	}
	last := 0
	for _, percent := range a.At {
		if percent <= last || percent > 100 {
			return 0, &InvalidError{Field: "alert.at", Value: strconv.Itoa(percent), Want: "percents of 1 to 100, ascending"}
		}
		last = percent
	}
	return index, nil
}
