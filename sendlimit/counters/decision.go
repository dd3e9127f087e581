package counters

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Decision answers Counters.Count. A refusal is a Decision with Allowed false, not an error. All
// times are UTC with milliseconds.
type Decision struct {
	Allowed bool
	Code    fault.Code // CodeRateLimited for a refusal; empty when Allowed

	// Counter names the deciding counter, which Remaining and ResetsAt describe: the one that
	// refuses, or otherwise the one with the least left. Among equals it is the one that resets
	// last.
	Counter string
	// Counters has every counter of the call, those of the event first.
	Counters []Usage
	// Remaining is how many more calls the deciding counter allows now.
	Remaining int64
	// RetryAfter is the wait after a refusal: the same call is allowed then, unless others come
	// first.
	RetryAfter time.Duration
	// ResetsAt is the end of the deciding counter's period.
	ResetsAt time.Time

	// Notices has the ids of the alerts that the call put into the outbox, by its Alert or its
	// event. notices.Outbox.Due finds those that were not delivered.
	Notices []string

	// Now is the time that was judged: the server's clock, or the request's At.
	Now time.Time
}

// decidedBy makes a counter the deciding one.
func (d *Decision) decidedBy(u Usage) {
	d.Counter, d.Remaining, d.ResetsAt = u.Counter.Name, u.Remaining(), u.Until
}
