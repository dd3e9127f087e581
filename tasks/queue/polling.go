package queue

import (
	"cmp"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Polling is how often a Server asks the queue for work. The zero value is the default. Programs
// that set timers and programs that serve them should use the same Polling, see Lead.
type Polling struct {
	Forward time.Duration // between two looks for due tasks; zero means 200 ms
	Fetch   time.Duration // between two looks for work after none was found; zero means 100 ms
}

// WithDefaults returns p with the defaults in place of zeros.
func (p Polling) WithDefaults() Polling {
	return Polling{Forward: cmp.Or(p.Forward, 200*time.Millisecond), Fetch: cmp.Or(p.Fetch, 100*time.Millisecond)}
}

// idle returns how long a queue has no work before a Server stops to ask for it: then it is told of
// new tasks, see arrivals.
func (p Polling) idle() time.Duration { return max(time.Second, 5*p.Forward, 5*p.Fetch) }

// lookEvery returns how often a Server looks for work that it was not told of.
func (p Polling) lookEvery() time.Duration { return 2 * p.idle() }

// MaxPolling is the longest interval that a Polling may have.
const MaxPolling = time.Minute

// Validate returns a *fault.InvalidError if an interval is out of bounds. Call it after
// WithDefaults.
func (p Polling) Validate() error {
	switch {
	case p.Forward < time.Millisecond || p.Forward > MaxPolling:
		return message.NotAllowed("forward_every", p.Forward.String(), "1 ms to %s", MaxPolling)
	case p.Fetch < time.Millisecond || p.Fetch > MaxPolling:
		return message.NotAllowed("fetch_every", p.Fetch.String(), "1 ms to %s", MaxPolling)
	}
	return nil
}

// Lead returns how long before its time a task is due in the queue, so that polling does not make
// it late. The handler waits for the rest.
func (q *Queue) Lead() time.Duration {
	return q.polling.Forward + q.polling.Fetch + q.polling.Fetch/2 // asynq adds up to half of its wait
}

// early returns when the task of a message is due in the queue.
func (q *Queue) early(m sendlimit.Timer) time.Time { return q.due(m).Add(-q.Lead()) }

// due returns when a message is due, by the queue's clock.
func (q *Queue) due(m sendlimit.Timer) time.Time { return m.Due.Add(-q.ahead.OfUser(m.User)) }
