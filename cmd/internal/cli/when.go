package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// When is a time on a command line.
type When struct {
	// At is in UTC and cut to the millisecond; zero with Now.
	At time.Time
	// Now is set for "now": as soon as the rules allow.
	Now bool
}

// ParseTime reads a time: one with its zone as calendar.ParseTime reads it, "now", "+90m" (from now
// on, days as 7d), or a local time such as YYYY-MM-DD HH:MM in the time zone tz, an IANA name or "" for
// none. For a local time that a clock change skips or repeats, the error names what to write
// instead.
//
// The error is a *fault.InvalidError for the field, or for "tz".
func ParseTime(field, s, tz string, now time.Time) (When, error) {
	if after, relative := strings.CutPrefix(s, "+"); relative {
		d, err := calendar.ParseDuration(after)
		if err != nil || d < 0 || strings.HasPrefix(after, "+") {
			return When{}, &fault.InvalidError{
				Field: field, Value: s, Want: "a length of time after the +, such as +90s, +90m, +36h or +7d",
			}
		}
		return when(now.Add(d)), nil
	}
	var zone *time.Location
	if tz != "" {
		var err error
		if zone, err = ParseZone(tz); err != nil {
			return When{}, err
		}
	}
	return parseTime(field, s, zone, ", now, +90m")
}

// ParseFixedTime is ParseTime for a time that means the same whenever it is read, as in a file, and
// for "now". A nil zone allows no local time.
func ParseFixedTime(field, s string, zone *time.Location) (When, error) {
	return parseTime(field, s, zone, ", now")
}

// parseTime reads a time that is not relative. others names the other forms in an error.
func parseTime(field, s string, zone *time.Location, others string) (When, error) {
	at, now, err := message.ParseTimeIn(zone)(s)
	wrong, _ := errors.AsType[*fault.InvalidError](fault.InField(err, field))
	switch {
	case err == nil:
		return When{At: at, Now: now}, nil
	case wrong.Want == calendar.WantTime:
		return When{}, wrong.Noting(others + ` or with --tz a local time such as "2040-06-22 11:11"`)
	case wrong.Want == calendar.WantZone:
		return When{}, wrong.Noting("; --tz Europe/Berlin gives the zone for all")
	default:
		return When{}, wrong
	}
}

// An End is a flag for the start or the end of a range of times, and its text.
type End struct {
	Field, Text string
	Into        *time.Time
}

// ParseEnds reads ends with ParseTime. It skips an end without a text.
func ParseEnds(tz string, now time.Time, ends ...End) error {
	for _, end := range ends {
		if end.Text == "" {
			continue
		}
		at, err := ParseTime(end.Field, end.Text, tz, now)
		if err != nil {
			return err
		}
		if at.Now {
			at = when(now)
		}
		*end.Into = at.At
	}
	return nil
}

// ParseZone returns the time zone of an IANA name, UTC for "". The error is a *fault.InvalidError
// for "tz".
func ParseZone(tz string) (*time.Location, error) {
	zone, err := calendar.ParseTimeZone(tz)
	return zone, fault.InField(err, "tz")
}

func when(t time.Time) When { return When{At: t.UTC().Truncate(time.Millisecond)} }
