package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration as in Go, with days of 24 hours: "90s", "1h30m", "7d", "1d12h".
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("parsing a length of time: %w", err)
		}
		return d, nil
	}
	n, err := strconv.ParseUint(days, 10, 16) // 16 bits of days are far from an overflow
	if err != nil {
		return 0, fmt.Errorf("parsing days: %w", err)
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || rest[0] == '+' || rest[0] == '-' {
		return 0, fmt.Errorf("parsing the rest after the days: %q is not a length of time", rest)
	}
	return d + more, nil
}

// FormatDuration returns a duration in the short form that ParseDuration reads: "7d", "15m",
// "1h30m".
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if before, ok := strings.CutSuffix(s, "m0s"); ok {
		s = before + "m"
	}
	if before, ok := strings.CutSuffix(s, "h0m"); ok {
		s = before + "h"
	}
	return s
}
