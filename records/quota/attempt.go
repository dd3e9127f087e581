package quota

import (
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// tokenLength is the length of the token of a call, in characters.
	tokenLength = keyspace.TokenBytes * 4 / 3
	// letters are the positions of holds and terms in their call, see lua/fragments/charge.lua.
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// charged is the charge of an attempt. So a record with the attempt has what to give back, even if
// the message was postponed, the account changed its time zone, or the policy has another throttle.
type charged struct {
	hour, day calendar.Stretch // of an account, only From; zero for none
	throttle  string           // the name of a charged throttle; "" for none
	period    time.Time        // its period, the start
	// back reports that the change gives back another throttle's charge.
	back bool
}

// attempt returns the attempt of the i-th hold of a call:
//
//	token letter [-hour-day][~period~throttle]
//
// Times are in seconds. Without a throttle, "~" at the end means back.
func (c charged) attempt(token string, i int) string {
	const base = 36
	attempt := token + letters[i:i+1]
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

// chargedBy returns the charge of an attempt, except for back.
func chargedBy(attempt string) charged {
	var c charged
	attempt, throttle, _ := strings.Cut(attempt, "~")
	period, name, _ := strings.Cut(throttle, "~")
	if start, ok := parseSeconds(period); ok && name != "" {
		c.period, c.throttle = start, name
	}
	if len(attempt) <= tokenLength+2 {
		return c
	}
	first, second, _ := strings.Cut(attempt[tokenLength+2:], "-")
	hour, isHour := parseSeconds(first)
	day, isDay := parseSeconds(second)
	if isHour && isDay {
		c.hour.From, c.day.From = hour, day
	}
	return c
}

// splitAttempt returns the token and the letter of an attempt.
func splitAttempt(attempt string) (token, letter string) {
	n := min(len(attempt), tokenLength)
	return attempt[:n], attempt[n:min(len(attempt), n+1)]
}

// holdName spells a hold of an attempt for the scripts: the call and the letter. of is "" for the
// account, or for a throttle or the former one.
func holdName(attempt, of string) string {
	token, letter := splitAttempt(attempt)
	return token + of + "/" + letter
}

func parseSeconds(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(seconds, 0).UTC(), err == nil
}
