package exchange

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads the Retry-After header: seconds or an HTTP date. It returns at most longest, and
// zero for anything else and for a time in the past. A date is compared with the answer's Date, so
// that the clocks need not agree, or else with now.
func RetryAfter(header http.Header, now time.Time, longest time.Duration) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		// The only possible error is a number that is too large.
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(longest/time.Second) {
			return longest
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), longest)
}

// Spread returns d plus up to a tenth, so that workers that wait do not come back at once.
func Spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + rand.N(d/10+1)
}
