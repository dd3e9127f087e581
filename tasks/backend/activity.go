package backend

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// flushWithin bounds a write of the counts.
const flushWithin = 2 * time.Second

// zone returns the time zone of an account, and UTC for an unreadable account. An error means that
// the store does not answer.
func (b *Backend) zone(ctx context.Context, account string) (*time.Location, error) {
	payer, err := b.Payers.Charged(ctx, account)
	if err == nil {
		return payer.Zone, nil
	}
	if _, away := errors.AsType[*fault.UnavailableError](err); away || ctx.Err() != nil {
		return nil, err
	}
	return time.UTC, nil // another try would find the same
}

// StartFlushing writes the counts of Activity once a second, and when the returned
// function is called. Failures are only logged. Programs that run for more than
// some seconds need it, unless they Follow.
func (b *Backend) StartFlushing() (stop func()) {
	flush := func(ctx context.Context, _ []struct{}) bool {
		if err := b.Activity.Flush(ctx); err != nil {
			b.Logger.WarnContext(ctx, "could not write the counts of messages: trying again", "error", err)
			return false
		}
		return true
	}
	flushing := batch.NewLoop(batch.Options{Every: time.Second, Within: flushWithin}, flush)
	flushing.Start()
	return flushing.Close
}

// FlushActivity writes the counts of Activity at the end of a program. A failure is only logged.
// Submitter.Close, DeadLetters.Close and Users.Erase call it.
func (b *Backend) FlushActivity() { b.StartFlushing()() }
