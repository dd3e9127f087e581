package backend

import (
	"context"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// flushWithin bounds a write of what became of messages.
const flushWithin = 2 * time.Second

// zone returns the time zone of an account, and UTC if what is stored of the account can't be
// read. An error means that the store does not answer.
func (b *Backend) zone(ctx context.Context, account string) (*time.Location, error) {
	payer, err := b.Payers.Charged(ctx, account)
	if err == nil {
		return payer.Zone, nil
	}
	if _, away := errors.AsType[*fault.UnavailableError](err); away || ctx.Err() != nil {
		return nil, err
	}
	return time.UTC, nil // asking again would say the same
}

// StartFlushing writes once a second what became of messages, and once more when the returned
// function is called. A failure is only logged. Programs that do not Follow, and run for more than
// some seconds, need it.
func (b *Backend) StartFlushing() (stop func()) {
	flush := func(ctx context.Context, _ []struct{}) bool {
		if err := b.Activity.Flush(ctx); err != nil {
			b.Logger.WarnContext(ctx, "could not write what became of messages: it is kept for the next time", "error", err)
			return false
		}
		return true
	}
	flushing := batch.NewLoop(batch.Options{Every: time.Second, Within: flushWithin}, flush)
	flushing.Start()
	return flushing.Close
}

// FlushActivity writes what became of messages since the last write. A failure is only logged.
// It is for the end of a program, whose context it does not need: Submitter.Close, DeadLetters.Close
// and Users.Erase call it.
func (b *Backend) FlushActivity() { b.StartFlushing()() }
