package retry

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Span decides when a failed alert is tried again. Unlike a Policy it
// ends after a time, as in mail systems: a mail server may be away for a day. The zero value
// is the default: for 3 days, 5 seconds to 1 hour apart.
type Span struct {
	Min, Max time.Duration // the first wait, and the longest one
	For      time.Duration // from the first failure to the last attempt
}

// WithDefaults returns the default Span for the zero value, else s.
func (s Span) WithDefaults() Span {
	if s == (Span{}) {
		return Span{Min: 5 * time.Second, Max: time.Hour, For: 72 * time.Hour}
	}
	return s
}

// Validate returns a *fault.InvalidError for a span that is out of bounds.
func (s Span) Validate() error {
	switch {
	case s.Min < time.Millisecond:
		return message.NotAllowed("alert_retry_min", s.Min.String(), "at least 1 ms")
	case s.Max < s.Min:
		return message.NotAllowed("alert_retry_max", s.Max.String(), "at least alert_retry_min, %s", s.Min)
	case s.For < s.Max:
		return message.NotAllowed("alert_retry_for", s.For.String(), "at least alert_retry_max, %s", s.Max)
	}
	return nil
}

// Next returns when to try again after the attempt-th delivery failed at now. The waits are
// those of Policy.Wait; the last attempt is For after the first failure. After that it returns false.
func (s Span) Next(attempt int, asked time.Duration, firstFailed, now time.Time) (time.Time, bool) {
	if firstFailed.IsZero() {
		firstFailed = now
	}
	end := firstFailed.Add(s.For)
	if !now.Before(end) {
		return time.Time{}, false
	}
	next := now.Add(Policy{Min: s.Min, Max: s.Max}.Wait(attempt, asked))
	if next.After(end) {
		next = end
	}
	return next, true
}
