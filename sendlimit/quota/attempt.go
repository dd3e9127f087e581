package quota

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// attemptRandom is the length of an attempt's random part, characters.
const attemptRandom = keyspace.TokenBytes * 4 / 3

// newAttempt makes the token of a hold. It names the hour and the day that are
// charged, in seconds. A record with this token therefore says what to give back,
// even if the message was postponed since or the account changed its time zone.
func newAttempt(hour, day time.Time) string {
	const base = 36
	return keyspace.NewToken() + "-" + strconv.FormatInt(hour.Unix(), base) + "-" + strconv.FormatInt(day.Unix(), base)
}

// chargedBy returns the hour and the day that an attempt names; ok is false if it
// names none.
func chargedBy(attempt string) (hour, day time.Time, ok bool) {
	if len(attempt) <= attemptRandom+1 {
		return time.Time{}, time.Time{}, false
	}
	first, second, _ := strings.Cut(attempt[attemptRandom+1:], "-")
	hourStart, err := strconv.ParseInt(first, 36, 64)
	if err != nil {
		return time.Time{}, time.Time{}, false
	}
	dayStart, err := strconv.ParseInt(second, 36, 64)
	if err != nil {
		return time.Time{}, time.Time{}, false
	}
	return time.Unix(hourStart, 0).UTC(), time.Unix(dayStart, 0).UTC(), true
}
