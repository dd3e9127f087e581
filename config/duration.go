package config

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// ParseDuration reads a duration of a setting or a flag as calendar.ParseDuration does.
func ParseDuration(s string) (time.Duration, error) {
	return calendar.ParseDuration(s)
}

// FormatDuration returns a duration in the short form that ParseDuration reads: "7d", "15m",
// "1h30m".
func FormatDuration(d time.Duration) string { return calendar.FormatDuration(d) }
