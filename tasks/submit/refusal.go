package submit

import (
	"fmt"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// refusalSentence explains a refusal to a person in one sentence, with the next step.
func refusalSentence(d sendlimit.Decision, user, id string) string {
	switch d.Code {
	case fault.CodeSendLimit:
		return conflictSentence(d, user) + insteadOf(d)
	case fault.CodeQuietHours:
		return quietSentence(d, user) + insteadOf(d)
	case fault.CodeDoNotDisturb:
		return fmt.Sprintf("%s is not to be disturbed before %s", user, timeOfDay(d.DoNotDisturbUntil, d.At)) + insteadOf(d)
	case fault.CodeTooManyPlaces:
		return placesSentence(d, user)
	case fault.CodeAccountPlaces:
		return fmt.Sprintf("the account has %s to %s on %s (UTC), the most of them that the setting account_places allows one account",
			countMessages(d.PlacesPerDay, ""), user, d.At.Format(time.DateOnly)) + insteadOf(d)
	case fault.CodeBlocked:
		return BlockedSentence(user)
	case fault.CodeOptedOut:
		return OptedOutSentence(user)
	case fault.CodeIDReused:
		return fmt.Sprintf("the id %s stands for another message to %s: use another id for another message", id, user)
	case fault.CodeTooLate:
		return fmt.Sprintf("message %s to %s is being sent or was sent: it can no longer be changed", id, user)
	case fault.CodeNotFound:
		return fmt.Sprintf("no pending message %q of user %q", id, user)
	case fault.CodeRateLimited:
		return fmt.Sprintf("message %s to %s was moved as often as a minute allows (moves_per_minute): move it again in %s",
			id, user, length(max(d.RetryAfter+time.Second-1, time.Second).Truncate(time.Second)))
	case fault.CodeInPast:
		return fmt.Sprintf("%s is in the past: it is %s now; use a later time, send_at now, or late now to send messages whose time has passed",
			timeOfDay(d.At, d.Now), d.Now.Format(message.TimeLayout))
	case fault.CodeTooFarAhead:
		return fmt.Sprintf("%s is too far ahead: the latest send time is %s",
			timeOfDay(d.At, d.Now), d.Latest.Format(message.TimeLayout))
	case fault.CodeUnknownCategory:
		return categorySentence(d)
	case fault.CodeCategoryReserved:
		return "the category is for other accounts: the policy names those that may use it, and this is none of them"
	case fault.CodePastExpiry:
		return fmt.Sprintf("%s is not before the message's expires_at %s: use an earlier time",
			timeOfDay(d.At, d.Now), d.ExpiresAt.Format(message.TimeLayout))
	case fault.CodeThrottled:
		return "the throttle of the category is used up"
	case fault.CodeQuotaExceeded:
		return "the quota of the account is used up"
	default:
		return string(d.Code)
	}
}

// explainWindow completes the outcome for a window that has passed, or begins too late.
func explainWindow(o *message.Outcome, d sendlimit.Decision) {
	switch {
	case d.Code == fault.CodeInPast:
		o.Field, o.Detail = "window", fmt.Sprintf("the window has passed: it ended at %s, and it is %s now; use a later one",
			timeOfDay(d.At.Add(time.Millisecond), d.Now), d.Now.Format(message.TimeLayout))
	case d.Code == fault.CodeTooFarAhead:
		o.Field, o.Detail = "window", fmt.Sprintf("the window begins at %s, which is too far ahead: the latest send time is %s",
			timeOfDay(d.At, d.Now), d.Latest.Format(message.TimeLayout))
	}
}

// windowSentence explains that no time of a window is free; begin says what is in the way at its
// begin.
func windowSentence(d sendlimit.Decision, begin, user, id string) string {
	end := *d.AtEnd
	if end.At.Equal(d.At) {
		return "the only time of the window is not free: " + begin + insteadOf(d)
	}
	return fmt.Sprintf("no time of the window is free; at its begin, %s: %s; at its end, %s: %s",
		timeOfDay(d.At, d.Now), begin, timeOfDay(end.At, d.At), refusalSentence(withoutFreeTimes(end), user, id)) + insteadOf(d)
}

// withoutFreeTimes returns a refusal whose sentence has no other times.
func withoutFreeTimes(d sendlimit.Decision) sendlimit.Decision {
	d.WithoutFreeTimes = true
	return d
}

// placesSentence explains that a day is full. A past send has no other times.
func placesSentence(d sendlimit.Decision, user string) string {
	full := fmt.Sprintf("%s already has %s on %s (UTC), the most that the setting places_per_day allows",
		user, countMessages(d.PlacesPerDay, ""), d.At.Format(time.DateOnly))
	if d.At.Before(d.Now) {
		return full + "; set it higher to record more"
	}
	return full + insteadOf(d)
}

func categorySentence(d sendlimit.Decision) string {
	const refused = "the policy does not know the category"
	if len(d.Categories) == 0 {
		return refused + ": it has none, leave the category out"
	}
	return fmt.Sprintf("%s: it has %s", refused, strings.Join(d.Categories, ", "))
}

func conflictSentence(d sendlimit.Decision, user string) string {
	v := d.Violations[0]
	if v.Share > 0 {
		return fmt.Sprintf("the account has %s to %s around then, and %d of %s is the most for one account",
			countMessages(v.ConflictsTotal, v.Category), user, v.Share, v.Rule)
	}
	switch n := v.ConflictsTotal; {
	case v.Rule.Calendar():
		return fmt.Sprintf("%s already has %s %s, and %d is the limit",
			user, countMessages(n, v.Category), inPeriod(v, d.At), v.Rule.Limit)
	case n == 1:
		return fmt.Sprintf("%s already has a %s at %s, within %s",
			user, kindOfMessage(v.Category), timeOfDay(v.Conflicts[0].At, d.At), length(v.Rule.Window))
	default:
		return fmt.Sprintf("%s already has %s around then (%s), and %d in any %s is the limit",
			user, countMessages(n, v.Category), spread(v, d.At), v.Rule.Limit, length(v.Rule.Window))
	}
}

// insteadOf ends a sentence with the time to use instead, if the decision has it.
func insteadOf(d sendlimit.Decision) string {
	if d.WithoutFreeTimes {
		return ""
	}
	return "; " + otherTimes(d)
}

// otherTimes returns which time to use instead.
func otherTimes(d sendlimit.Decision) string {
	switch {
	case !d.NextFree.IsZero():
		return "the next free time is " + timeOfDay(d.NextFree, d.At)
	case !d.PreviousFree.IsZero():
		return "no later time is free, the last free one is " + timeOfDay(d.PreviousFree, d.At)
	default:
		return "no time is free as far ahead as messages are accepted"
	}
}

// quietSentence also shows the user's local time, as other times are in UTC.
func quietSentence(d sendlimit.Decision, user string) string {
	zone := d.Quiet.Location
	if zone == time.UTC {
		return fmt.Sprintf("%s is in the quiet hours of %s (%s)", timeOfDay(d.At, d.Now), user, d.Quiet.Hours)
	}
	return fmt.Sprintf("%s is in the quiet hours of %s (%s in %s, where it is %s then)",
		timeOfDay(d.At, d.Now), user, d.Quiet.Hours, zone, d.At.In(zone).Format("15:04"))
}

// BlockedSentence returns the sentence for a blocked user.
func BlockedSentence(user string) string {
	return user + " is blocked: nothing is accepted for this user until the block is lifted"
}

// OptedOutSentence returns the sentence for a message that the user does not want.
func OptedOutSentence(user string) string {
	return user + " has opted out of the category of the message, or of all: do not send it"
}

func countMessages(n int, category string) string {
	return message.Count(n, kindOfMessage(category))
}

func kindOfMessage(category string) string {
	if category == "" {
		return "message"
	}
	return category + " message"
}

// spread returns the times of the first and last conflict. If not all are listed, the last is
// unknown.
func spread(v sendlimit.Violation, at time.Time) string {
	first, last := v.Conflicts[0].At, v.Conflicts[len(v.Conflicts)-1].At
	if v.ConflictsTotal > len(v.Conflicts) {
		return "from " + timeOfDay(first, at) + " on"
	}
	return timeOfDay(first, at) + " to " + timeOfDay(last, at)
}

func inPeriod(v sendlimit.Violation, at time.Time) string {
	switch v.Rule.Period {
	case calendar.Day:
		return "on that day"
	case calendar.Week, calendar.Month, calendar.Hour, calendar.Minute, calendar.NoPeriod:
	}
	return fmt.Sprintf("in that %s (%s to %s)", v.Rule.Period, timeOfDay(v.From, at), timeOfDay(v.Until, at))
}

// timeOfDay formats a time in UTC, as short as is clear beside another: with the date only
// if it differs, with milliseconds only if there are any.
func timeOfDay(at, beside time.Time) string {
	at, beside = at.UTC(), beside.UTC()
	layout := "15:04:05"
	if at.Nanosecond() != 0 {
		layout = "15:04:05.000"
	}
	if at.YearDay() != beside.YearDay() || at.Year() != beside.Year() {
		layout = "2006-01-02 " + layout
	}
	return at.Format(layout)
}

// length formats a window as a person says it, "1 minute".
func length(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"week", 7 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if d%unit.length == 0 {
			if n := d / unit.length; n > 1 {
				return fmt.Sprintf("%d %ss", n, unit.name)
			}
			return "1 " + unit.name
		}
	}
	if d == time.Second {
		return "1 second"
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}
