package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// When is a time of a command line.
type When struct {
	// At is in UTC and cut to the millisecond; zero with Now.
	At time.Time
	// Now means that "now" was written: as soon as the rules allow.
	Now bool
}

// ParseTime reads a time: RFC 3339, "now", "+90m" (from now on, days as 7d), or YYYY-MM-DD
// HH:MM with or without seconds in the time zone tz, an IANA name or "" for none. For a
// local time that a clock change skips or repeats, the error names what to write instead.
//
// The error is a *fault.InvalidError for the field, or for "tz".
func ParseTime(field, s, tz string, now time.Time) (When, error) {
	zone, err := ParseZone(tz)
	if err != nil {
		return When{}, err
	}
	invalid := func(want string) error {
		return &fault.InvalidError{Field: field, Value: s, Want: want}
	}
	if s == "now" {
		return When{Now: true}, nil
	}
	if after, relative := strings.CutPrefix(s, "+"); relative {
		d, err := calendar.ParseDuration(after)
		if err != nil || d < 0 || strings.HasPrefix(after, "+") {
			return When{}, invalid("a length of time after the +, such as +90s, +90m, +36h or +7d")
		}
		return when(now.Add(d)), nil
	}
	t, errRFC := parseRFC3339(s)
	if errRFC == nil {
		return when(t), nil
	}
	local, err := calendar.ParseLocal(s)
	switch {
	case outOfRange(errRFC) || outOfRange(err):
		return When{}, invalid("a date and time that exist")
	case err != nil:
		return When{}, invalid("an RFC 3339 time such as 2040-06-22T11:11:11Z, now, +90m," +
			` or with --tz a local time such as "2040-06-22 11:11"`)
	case tz == "":
		return When{}, invalid("a time with its zone: write 2040-06-22T11:11:11Z or 2040-06-22T11:11:11+01:00," +
			" or give the zone with --tz, such as --tz Europe/Berlin")
	}
	at, wrong := local.In(zone)
	if wrong != "" {
		return When{}, &fault.InvalidError{Field: field, Value: s, Says: s + " " + wrong}
	}
	return when(at), nil
}

// An End is where a stretch of time begins or ends: a flag, and what reads it.
type End struct {
	Field, Text string
	Into        *time.Time
}

// ParseEnds reads ends by ParseTime. One without a text changes nothing.
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

// ParseZone returns the time zone of an IANA name, UTC for "". The error is a
// *fault.InvalidError for "tz".
func ParseZone(tz string) (*time.Location, error) {
	zone, err := time.LoadLocation(tz)
	if err != nil || tz == "Local" {
		return nil, &fault.InvalidError{
			Field: "tz", Value: tz, Want: "an IANA time zone such as Europe/Berlin or UTC",
		}
	}
	return zone, nil
}

func when(t time.Time) When { return When{At: t.UTC().Truncate(time.Millisecond)} }

// parseRFC3339 is time.Parse without what that accepts beyond RFC 3339: an hour of one
// digit, and a comma before the fraction.
func parseRFC3339(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("parsing an RFC 3339 time: %w", err)
	}
	if s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return time.Time{}, fmt.Errorf("parsing an RFC 3339 time: %q is none", s)
	}
	return t, nil
}

// outOfRange reports whether a time has the right form but does not exist, such as
// February 30.
func outOfRange(err error) bool {
	problem, ok := errors.AsType[*time.ParseError](err)
	return ok && strings.Contains(problem.Message, "out of range")
}
