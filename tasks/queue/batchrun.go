package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
)

// outcome is how a message of a batch was claimed, or ended before: with an error if it has
// to come again.
type outcome struct {
	message messages.Queued
	err     error
}

// deliverBatch handles the timers of several messages side by side. It returns once each
// message is claimed or has ended: a delivery may go on, and holds up no other message.
func (s *Server) deliverBatch(ctx context.Context, batch []messages.Queued) error {
	outcomes := make(chan outcome, len(batch))
	for _, m := range batch {
		s.running.Go(func() {
			var tell sync.Once
			ended := func(err error) { tell.Do(func() { outcomes <- outcome{m, err} }) }
			err := s.drop(ctx, s.options.Deliver(ctx, m, func() { ended(nil) }))
			ended(err)
		})
	}
	again := make(map[string][]outcome) // by the cause
	for range batch {
		if o := <-outcomes; o.err != nil {
			cause := causeOf(o.err).Error()
			again[cause] = append(again[cause], o)
		}
	}
	return s.comeAgain(ctx, len(batch), again)
}

// comeAgain puts messages of a batch back into the queue. Those that wait for the same share
// a task. If that is the whole batch, its own task comes again.
func (s *Server) comeAgain(ctx context.Context, size int, again map[string][]outcome) error {
	for _, same := range again {
		if len(same) == size {
			return soonest(same)
		}
		together := make([]messages.Queued, len(same))
		for i, o := range same {
			together[i] = o.message
		}
		// It comes at once, and then waits in the queue as any other task.
		if err := s.queue.enqueueBatch(context.WithoutCancel(ctx), together, time.Time{}); err != nil {
			return err // the whole batch comes again: what is claimed is stale in it
		}
	}
	return nil
}

// causeOf returns why a task comes again.
func causeOf(err error) error {
	if again, ok := errors.AsType[*AgainError](err); ok {
		return again.Cause
	}
	return err
}

// soonest returns the error of messages that wait for the same: the first time counts.
func soonest(same []outcome) error {
	first := same[0].err
	for _, o := range same[1:] {
		if comeAgain(o.err) < comeAgain(first) {
			first = o.err
		}
	}
	return first
}
