package counters

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Bounds of a call.
const (
	MaxCounters = 16                // Counters of a Request, without those of its event
	MaxLimit    = 1_000_000_000_000 // Limit of a Counter, and of an Event
)

// Counter allows at most Limit calls in each Period or Window. The zero Counter is not valid.
type Counter struct {
	// Name distinguishes the counters of a key: 1 to 64 of a-z 0-9 _ -. Each name has one Period or
	// Window; with another one it counts from zero.
	Name  string
	Limit int64 // 1 to MaxLimit
	// Period is the natural period in which calls are counted. With NoPeriod, Window is used
	// instead: whole milliseconds, up to calendar.MaxWindow. A window begins with its first call
	// and ends after that time; later calls do not extend it.
	Period calendar.Period
	Window time.Duration
}

// Validate checks the counter's bounds. The error is an *InvalidError for the field "counter".
func (c Counter) Validate() error {
	bad := func(want string) error {
		return &fault.InvalidError{Field: "counter", Value: c.Name, Want: want}
	}
	switch {
	case !keyspace.ValidName(c.Name):
		return bad("a name, 1 to 64 of a-z 0-9 _ -")
	case c.Limit < 1 || c.Limit > MaxLimit:
		return bad(fmt.Sprintf("a limit of 1 to %d, not %d", MaxLimit, c.Limit))
	case c.Period > calendar.Month || (c.Period == calendar.NoPeriod) == (c.Window == 0):
		return bad("either a natural period or a window")
	case c.Period != calendar.NoPeriod:
		return nil
	case c.Window < time.Millisecond || c.Window > calendar.MaxWindow || c.Window%time.Millisecond != 0:
		return bad("a window of whole milliseconds, up to 366 days, not " + c.Window.String())
	}
	return nil
}

// scriptPeriod is the period as lua/judge/rules.lua reads it: milliseconds of a window, or a
// negative number for a natural period.
func (c Counter) scriptPeriod() int64 {
	if c.Period != calendar.NoPeriod {
		return -int64(c.Period)
	}
	return c.Window.Milliseconds()
}

// words is the counter as lua/judge/rules.lua reads it.
func (c Counter) words() string {
	return strconv.FormatInt(c.Limit, 10) + " " + strconv.FormatInt(c.scriptPeriod(), 10)
}

// String returns what the counter allows: "60 per minute", "5 in 90s".
func (c Counter) String() string {
	if c.Period != calendar.NoPeriod {
		return strconv.FormatInt(c.Limit, 10) + " per " + c.Period.String()
	}
	return strconv.FormatInt(c.Limit, 10) + " in " + c.Window.String()
}

// Usage is how much of a Counter is used in the period [From, Until).
type Usage struct {
	Counter     Counter
	Used        int64
	From, Until time.Time
}

// Remaining returns how much more the counter allows in its period. It is never negative, even if a
// limit was lowered below Used.
func (u Usage) Remaining() int64 { return max(u.Counter.Limit-u.Used, 0) }
