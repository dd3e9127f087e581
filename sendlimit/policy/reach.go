package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const wantReach = "1s to 366d in whole seconds, such as 30d, 36h or 90m"

// ParseReach reads how far ahead send times may be: days as in "30d", or a duration as in Go, "36h"
// or "1h30m". The error is a *fault.InvalidError for the field "reach".
func ParseReach(s string) (time.Duration, error) {
	var reach time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		reach = time.Duration(n) * calendar.DayLong
	} else {
		reach, err = time.ParseDuration(s)
	}
	if err != nil || reach == 0 || (Policy{Reach: reach}).validateReach() != nil {
		return 0, &fault.InvalidError{Field: "reach", Value: s, Want: wantReach}
	}
	return reach, nil
}

// FormatReach formats a duration as ParseReach reads it, in the largest unit that fits: "30d",
// "36h".
func FormatReach(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{calendar.DayLong, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d > 0 && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	return d.String()
}
