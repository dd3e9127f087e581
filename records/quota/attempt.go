package quota

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// attemptRandom is the length of an attempt's random part, characters.
const attemptRandom = keyspace.TokenBytes * 4 / 3

// charged is what an attempt names. A record with the attempt therefore says what to give
// back, even if the message was postponed since, the account changed its time zone, or the
// policy has another throttle.
type charged struct {
	hour, day calendar.Stretch // of an account, only From; zero for none
	throttle  string           // the name of a charged throttle; "" for none
	period    time.Time        // its period, the start
	// back says that the change gives back another throttle's charge.
	back bool
}

// newAttempt makes the token of a hold:
//
//	random[-hour-day][~period~throttle]
//
// Times are in seconds. Without a throttle, "~" at the end stands for back.
func newAttempt(c charged) string {
	const base = 36
	attempt := keyspace.NewToken()
	if c.hour != (calendar.Stretch{}) {
		attempt += "-" + strconv.FormatInt(c.hour.From.Unix(), base) + "-" + strconv.FormatInt(c.day.From.Unix(), base)
	}
	switch {
	case c.throttle != "":
		attempt += "~" + strconv.FormatInt(c.period.Unix(), base) + "~" + c.throttle
	case c.back:
		attempt += "~"
	}
	return attempt
}

// chargedBy returns what an attempt names, except for back.
func chargedBy(attempt string) charged {
	var c charged
	attempt, throttle, _ := strings.Cut(attempt, "~")
	period, name, _ := strings.Cut(throttle, "~")
	if start, ok := parseSeconds(period); ok && name != "" {
		c.period, c.throttle = start, name
	}
	if len(attempt) <= attemptRandom+1 {
		return c
	}
	first, second, _ := strings.Cut(attempt[attemptRandom+1:], "-")
	hour, isHour := parseSeconds(first)
	day, isDay := parseSeconds(second)
	if isHour && isDay {
		c.hour.From, c.day.From = hour, day
	}
	return c
}

func parseSeconds(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(seconds, 0).UTC(), err == nil
}
