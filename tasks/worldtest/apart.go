package worldtest

import (
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// The clocks of masters may differ. A story has all times by its world's clock, but a message is due
// by the clock of its user's master. Requests to a master and reads of its data shift the times.

// shift moves the times that are not zero.
func shift(by time.Duration, times ...*time.Time) {
	for _, t := range times {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
}

// there returns a message with times of the master's clock.
func (c *caller) there(m message.Message) message.Message {
	shift(c.ahead[m.User], &m.SendAt, &m.ExpiresAt, &m.ShiftUntil)
	if m.Local != nil {
		m.Local, m.SendAt = keeping(m.SendAt), time.Time{}
	}
	if m.Window != nil {
		window := *m.Window
		shift(c.ahead[m.User], &window.From, &window.Until)
		m.Window = &window
	}
	return m
}

// Submit submits a message with times of the world's clock.
func (c *caller) Submit(ctx context.Context, m message.Message) (message.Outcome, error) {
	o, err := c.Submitter.Submit(ctx, c.there(m))
	return c.heard(m.User, o), err
}

// Put replaces a pending message by one with times of the world's clock.
func (c *caller) Put(ctx context.Context, m message.Message) (message.Outcome, error) {
	o, err := c.Submitter.Put(ctx, c.there(m), submit.PutIfReplaces)
	return c.heard(m.User, o), err
}

// SubmitMany submits messages of one user with times of the world's clock.
func (c *caller) SubmitMany(ctx context.Context, ms []message.Message) ([]message.Outcome, error) {
	ms = slices.Clone(ms)
	for i := range ms {
		ms[i] = c.there(ms[i])
	}
	outcomes, err := c.Submitter.SubmitMany(ctx, ms)
	for i := range outcomes {
		outcomes[i] = c.heard(ms[i].User, outcomes[i])
	}
	return outcomes, err
}

// Check is a dry run of Submit.
func (c *caller) Check(ctx context.Context, m message.Message) (message.Outcome, error) {
	o, err := c.Submitter.Check(ctx, c.there(m))
	return c.heard(m.User, o), err
}

// heard returns an answer about a user's message with times of the world's clock.
func (c *caller) heard(user string, o message.Outcome) message.Outcome {
	shift(-c.ahead[user], &o.SendAt.Time, &o.RequestedAt.Time, &o.MovedFrom.Time, &o.NextFreeAt.Time, &o.PreviousFreeAt.Time)
	return o
}
