package policy

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Words for messages whose send time has passed when they are submitted. In their place a length of
// time says how long ago it may have passed at most.
const (
	LateRefuse = "refuse" // the message is refused
	LateNow    = "now"    // it is sent now, as with DefaultLate
)

// DefaultLate is how long ago a send time may have passed with LateNow, and MaxLate is the longest
// time that can be set.
const (
	DefaultLate = calendar.DayLong
	MaxLate     = 7 * calendar.DayLong
)

const wantLate = "refuse, now, or how late a message may be, 1s to 7d in whole seconds, such as 15m"

// ParseLate reads LateRefuse as 0, LateNow as DefaultLate, or a length of time up to MaxLate. The error
// is a *fault.InvalidError for the field "late".
func ParseLate(text string) (time.Duration, error) {
	switch text {
	case LateRefuse:
		return 0, nil
	case LateNow:
		return DefaultLate, nil
	}
	late, err := calendar.ParseDuration(text)
	if err != nil || late == 0 || !validLate(late) {
		return 0, &fault.InvalidError{Field: "late", Value: text, Want: wantLate}
	}
	return late, nil
}

// formatLate returns what ParseLate reads; "" for 0.
func formatLate(late time.Duration) string {
	switch late {
	case 0:
		return ""
	case DefaultLate:
		return LateNow
	default:
		return calendar.FormatDuration(late)
	}
}

func validLate(late time.Duration) bool {
	return late == 0 || late >= time.Second && late <= MaxLate && late%time.Second == 0
}

func (p Policy) validateLate() error {
	if validLate(p.Late) {
		return nil
	}
	return &fault.InvalidError{Field: "late", Value: p.Late.String(), Want: wantLate}
}
