package backend

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/batch"
)

// flushWithin bounds a write of what became of messages.
const flushWithin = 2 * time.Second

// startFlushing writes once a second what became of messages, and once more when it is
// closed. A failure is only logged.
func (b *Backend) startFlushing() *batch.Loop[struct{}] {
	flush := func(ctx context.Context, _ []struct{}) bool {
		if err := b.Activity.Flush(ctx); err != nil {
			b.Logger.WarnContext(ctx, "could not write what became of messages: it is kept for the next time", "error", err)
			return false
		}
		return true
	}
	flushing := batch.NewLoop(batch.Options{Every: time.Second, Within: flushWithin}, flush)
	flushing.Start()
	return flushing
}

// FlushActivity writes what became of messages since the last write. A failure is only
// logged. Programs that do not Follow call it at their end; it does not need their context.
func (b *Backend) FlushActivity() { b.startFlushing().Close() }
