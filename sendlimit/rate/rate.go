package rate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Bounds of a Rate.
const (
	MaxCount    = 100_000 // permits or tokens in an interval, and in a bucket
	MaxInterval = 31 * calendar.DayLong
)

// Rate is a number of permits or tokens in each interval. The zero Rate means none.
type Rate struct {
	Count    int64         // 1 to MaxCount
	Interval time.Duration // whole milliseconds, up to MaxInterval
}

// rateUnits are the intervals with names.
var rateUnits = []struct { //nolint:globals // a constant table
	name   string
	length time.Duration
}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", calendar.DayLong}}

// Parse reads a rate: "100/second", "6000/minute", "50/hour", "10/day" or "20/500ms". The error is
// an *InvalidError for the field "rate".
func Parse(s string) (Rate, error) {
	count, interval, _ := strings.Cut(s, "/")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != count {
		return Rate{}, invalidRate(s)
	}
	r := Rate{Count: n}
	for _, unit := range rateUnits {
		if unit.name == interval {
			r.Interval = unit.length
		}
	}
	if r.Interval == 0 {
		r.Interval, err = time.ParseDuration(interval)
	}
	if err != nil || r.Validate() != nil {
		return Rate{}, invalidRate(s)
	}
	return r, nil
}

// String returns the rate as Parse reads it, and "none" for the zero Rate.
func (r Rate) String() string {
	if r == (Rate{}) {
		return "none"
	}
	count := strconv.FormatInt(r.Count, 10) + "/"
	for _, unit := range rateUnits {
		if unit.length == r.Interval {
			return count + unit.name
		}
	}
	return count + r.Interval.String()
}

// Validate checks the rate's bounds; the zero Rate is not valid. The error is an *InvalidError for
// the field "rate".
func (r Rate) Validate() error {
	inBounds := r.Count >= 1 && r.Count <= MaxCount &&
		r.Interval >= time.Millisecond && r.Interval <= MaxInterval && r.Interval%time.Millisecond == 0
	if !inBounds {
		return invalidRate(r.String())
	}
	return nil
}

func invalidRate(s string) error {
	return &fault.InvalidError{
		Field: "rate", Value: s,
		Want: fmt.Sprintf("a rate such as 100/second, 6000/minute or 20/500ms: 1 to %d, in 1ms to 31 days", MaxCount),
	}
}

// PermitRate is the rate of Permits. The zero PermitRate is not valid.
type PermitRate struct {
	Rate

	PerClient bool // each client has the rate, rather than all clients together
	// KeepAlive is how long the rate stays after its last Acquire, or after it was set: whole
	// milliseconds, at most MaxKeepAlive. Zero means until it is replaced or deleted.
	KeepAlive time.Duration
}

// MaxKeepAlive is the longest PermitRate.KeepAlive.
const MaxKeepAlive = 366 * calendar.DayLong

// Validate checks the bounds of the rate and its KeepAlive. The error is an *InvalidError for the
// field "rate" or "keep_alive".
func (r PermitRate) Validate() error {
	if r.KeepAlive < 0 || r.KeepAlive > MaxKeepAlive || r.KeepAlive%time.Millisecond != 0 {
		return &fault.InvalidError{Field: "keep_alive", Value: r.KeepAlive.String(), Want: "whole milliseconds, up to 366 days, or 0 for ever"}
	}
	return r.Rate.Validate()
}

// text returns the rate as lua/rate/permits_acquire.lua reads it.
func (r PermitRate) text() string {
	whose := "o"
	if r.PerClient {
		whose = "c"
	}
	text := fmt.Sprintf("%d %d %s", r.Count, r.Interval.Milliseconds(), whose)
	if r.KeepAlive > 0 {
		text += " " + keepAliveWord + strconv.FormatInt(r.KeepAlive.Milliseconds(), 10)
	}
	return text
}

// keepAliveWord begins the word of a rate's KeepAlive, in milliseconds.
const keepAliveWord = "k"

// parsePermitRate reads the output of text. Like the script, it ignores further words, which a
// newer program may have added.
func parsePermitRate(s string) (PermitRate, error) {
	words := strings.Fields(s)
	if len(words) < 3 || words[2] != "o" && words[2] != "c" {
		return PermitRate{}, &fault.UnavailableError{
			Detail: "the rate of permits in the store can't be read: set it again, or run the newer program that wrote it",
		}
	}
	count, wrong := strconv.ParseInt(words[0], 10, 64)
	length, garbage := strconv.ParseInt(words[1], 10, 64)
	r := PermitRate{Rate: Rate{Count: count, Interval: time.Duration(length) * time.Millisecond}, PerClient: words[2] == "c"}
	if wrong != nil || garbage != nil || length > MaxInterval.Milliseconds() || r.Validate() != nil {
		return parsePermitRate("") // the error above
	}
	for _, word := range words[3:] {
		text, ok := strings.CutPrefix(word, keepAliveWord)
		if ms, err := strconv.ParseInt(text, 10, 64); ok && err == nil && ms > 0 && ms <= MaxKeepAlive.Milliseconds() {
			r.KeepAlive = time.Duration(ms) * time.Millisecond
		}
	}
	return r, nil
}

// NoRateError is returned when permits are requested that have no rate yet. Nothing was done.
type NoRateError struct {
	Name string // of the Permits
}

// Error says how to set a rate.
func (e *NoRateError) Error() string {
	return fmt.Sprintf("the permits %q have no rate yet: give them one with TrySetRate", e.Name)
}
