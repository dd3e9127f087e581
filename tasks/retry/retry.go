package retry

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// Policy decides when a failed delivery is tried again. The zero value is the default: 8
// attempts, 5 seconds to 15 minutes apart.
type Policy struct {
	Min, Max time.Duration // the first wait, and the longest that we choose
	Attempts int           // deliveries tried in all
}

// WithDefaults returns the default Policy for the zero value, else p.
func (p Policy) WithDefaults() Policy {
	if p == (Policy{}) {
		return Policy{Min: 5 * time.Second, Max: 15 * time.Minute, Attempts: 8}
	}
	return p
}

// Validate returns a *fault.InvalidError for a policy that is out of bounds.
func (p Policy) Validate() error {
	switch {
	case p.Min < time.Millisecond:
		return message.NotAllowed("retry_min", p.Min.String(), "at least 1 ms")
	case p.Max < p.Min:
		return message.NotAllowed("retry_max", p.Max.String(), "at least retry_min, %s", p.Min)
	case p.Attempts < 1:
		return message.NotAllowed("max_attempts", strconv.Itoa(p.Attempts), "at least 1")
	}
	return nil
}

// Wait returns how long to wait after the attempt-th delivery failed: twice as long each
// time up to Max, and at least what the provider asked for. Half of it is random, so that
// messages that failed together do not come back together.
func (p Policy) Wait(attempt int, asked time.Duration) time.Duration {
	backoff := p.Max
	// Shift Max down: shifting Min up first could overflow.
	if doublings := max(attempt, 1) - 1; p.Min <= p.Max>>doublings {
		backoff = p.Min << doublings
	}
	jittered := backoff/2 + rand.N(backoff/2+1)
	return max(jittered, asked)
}
