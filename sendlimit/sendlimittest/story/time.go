package story

import (
	"strings"
	"time"
)

// Ahead reads a time like At, but in 2093 instead of 2026. The days of both
// years have the same names. Tests on a real Redis need it: its clock cannot be
// set, and keys expire by it.
func Ahead(s string) time.Time {
	moment := At(s)
	if moment.Year() != 2026 {
		return moment
	}
	return moment.AddDate(2093-2026, 0, 0)
}

// At reads a time of day of 2026-11-22 ("11:11:11.500"), a day and time of that
// month ("23 11:11") or a time in RFC 3339. The empty string is the zero time.
func At(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	if strings.Contains(s, "T") {
		moment, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			panic(err) // the test is wrong
		}
		return moment.UTC()
	}
	day, clock, other := strings.Cut(s, " ")
	if !other {
		day, clock = "22", s
	}
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	return At("2026-11-" + day + "T" + clock + "Z")
}

// ID makes a message id of a time as At reads it.
func ID(when string) string { return strings.ReplaceAll(when, " ", "_") }
