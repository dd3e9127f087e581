package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TimeWidth is how wide the longest of the usual times is that FormatTime writes:
// the column of a list that has them.
const TimeWidth = len("2006-01-02 15:04:05.000 CEST")

// FormatTime writes a time for a person, in the zone: "2026-11-22 11:11:11
// UTC", with milliseconds where there are some.
func FormatTime(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	layout := "2006-01-02 15:04:05 MST"
	if t.Nanosecond() >= int(time.Millisecond) {
		layout = "2006-01-02 15:04:05.000 MST"
	}
	return t.Format(layout)
}

// FormatDuration writes a length of time for a person by its two largest
// units: "1 minute", "2 hours 5 minutes", "3 days". What is smaller is cut off.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + FormatDuration(-d)
	}
	if d >= time.Minute {
		d = d.Truncate(time.Second)
	}
	var parts []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
		{time.Second, "second"},
		{time.Millisecond, "millisecond"},
	} {
		n := d / unit.length
		d %= unit.length
		switch {
		case n == 1:
			parts = append(parts, "1 "+unit.name)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, unit.name))
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// Thousands writes a number with its digits in groups, "81,959".
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	var groups []string
	for ; len(digits) > 3; digits = digits[:len(digits)-3] {
		groups = append(groups, digits[len(digits)-3:])
	}
	groups = append(groups, digits)
	slices.Reverse(groups)
	return strings.Join(groups, ",")
}
