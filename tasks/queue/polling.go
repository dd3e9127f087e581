package queue

import (
	"cmp"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Polling says how often a Server asks the queue for work. The zero value is the
// default. What sets timers and what serves them should have the same Polling:
// tasks are asked for as much before their time as the polling may take.
type Polling struct {
	Forward time.Duration // between two looks for tasks that are due; zero means 200 ms
	Fetch   time.Duration // between two looks for work after none was found; zero means 100 ms
}

// WithDefaults returns p with the defaults in place of zeros.
func (p Polling) WithDefaults() Polling {
	return Polling{Forward: cmp.Or(p.Forward, 200*time.Millisecond), Fetch: cmp.Or(p.Fetch, 100*time.Millisecond)}
}

// MaxPolling is the longest interval that a Polling may have.
const MaxPolling = time.Minute

// Validate returns a *fault.InvalidError where an interval is out of bounds. It
// is for a Polling that has its defaults.
func (p Polling) Validate() error {
	switch {
	case p.Forward < time.Millisecond || p.Forward > MaxPolling:
		return message.NotAllowed("forward_every", p.Forward.String(), "1 ms to %s", MaxPolling)
	case p.Fetch < time.Millisecond || p.Fetch > MaxPolling:
		return message.NotAllowed("fetch_every", p.Fetch.String(), "1 ms to %s", MaxPolling)
	}
	return nil
}

// lead is how much before its time a task is asked for, so that neither the
// polling nor the way to a handler makes it late. The handler waits for the rest.
func (p Polling) lead() time.Duration {
	return p.Forward + p.Fetch + p.Fetch/2 // asynq adds up to half to its wait
}
