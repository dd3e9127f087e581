package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// outcome is the end of a batch's work on a message: without an error, it was claimed or ended;
// with one, it must be retried.
type outcome struct {
	message sendlimit.Timer
	err     error
}

// deliverBatch handles the timers of several messages concurrently. It returns once each message
// is claimed or has ended, so a slow delivery delays no other message.
func (s *Server) deliverBatch(ctx context.Context, batch []sendlimit.Timer) error {
	outcomes := make(chan outcome, len(batch))
	for _, m := range batch {
		s.running.Go(func() {
			told := false
			claimed := func() {
				if !told {
					told = true
					outcomes <- outcome{m, nil}
				}
			}
			err := s.deliverOne(ctx, m, claimed)
			if told && err != nil {
				s.options.Logger.WarnContext(ctx, "a delivery failed: the relay handles it after its lease", "error", err)
			}
			if !told {
				outcomes <- outcome{m, err}
			}
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

// deliverOne handles the timer of one message. As in a task of asynq, a panic is an error.
func (s *Server) deliverOne(ctx context.Context, m sendlimit.Timer, claimed func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return s.drop(ctx, s.options.Deliver(ctx, m, claimed))
}

// comeAgain puts messages of a batch back into the queue. Those with the same cause share a task.
// If all have the same cause, the batch's own task is retried.
func (s *Server) comeAgain(ctx context.Context, size int, again map[string][]outcome) error {
	for _, same := range again {
		if len(same) == size {
			return soonest(same)
		}
		together := make([]sendlimit.Timer, len(same))
		for i, o := range same {
			together[i] = o.message
		}
		// The task is delivered at once, and then waits in the queue like any other.
		if err := s.queue.enqueueBatch(context.WithoutCancel(ctx), together, time.Time{}); err != nil {
			return err // the whole batch comes again: claimed messages are stale in it
		}
	}
	return nil
}

// causeOf returns why a task is retried.
func causeOf(err error) error {
	if again, ok := errors.AsType[*AgainError](err); ok {
		return again.Cause
	}
	return err
}

// soonest returns the error with the shortest delay, of messages with the same cause.
func soonest(same []outcome) error {
	first := same[0].err
	for _, o := range same[1:] {
		if comeAgain(o.err) < comeAgain(first) {
			first = o.err
		}
	}
	return first
}
