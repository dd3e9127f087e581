package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Never is how people write an empty list of percents.
const Never = "never"

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

// FormatCount writes a number with the name of what is counted: "1 key", "2 keys".
func FormatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FormatLimit writes a limit of which 0 means none.
func FormatLimit(limit int64) string {
	if limit == 0 {
		return "no limit"
	}
	return strconv.FormatInt(limit, 10)
}

// FormatAlertAt writes the percents at which somebody is alerted: "80%, 100%". Nil
// are the default ones, an empty list is Never.
func FormatAlertAt(percents []int) string {
	if percents == nil {
		percents = policy.DefaultAlertAt()
	}
	if len(percents) == 0 {
		return Never
	}
	words := make([]string, 0, len(percents))
	for _, percent := range percents {
		words = append(words, strconv.Itoa(percent)+"%")
	}
	return strings.Join(words, ", ")
}
