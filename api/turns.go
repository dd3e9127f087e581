package api

import (
	"golang.org/x/sync/semaphore"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// turns bounds how many requests of an expensive kind are answered at a time.
type turns struct {
	free *semaphore.Weighted
	busy string // what is under way, how many run at a time, and what to do
}

func newTurns(most int64, busy string) turns {
	return turns{free: semaphore.NewWeighted(most), busy: busy}
}

// take takes a turn if one is free. Otherwise the error is a *refusal with rate_limited.
func (t turns) take() error {
	if t.free.TryAcquire(1) {
		return nil
	}
	return &refusal{message.Outcome{
		Outcome: message.Refused, Code: fault.CodeRateLimited, RetryAfterSeconds: retryStreamAfter, Detail: t.busy,
	}}
}

// leave gives a turn back.
func (t turns) leave() { t.free.Release(1) }
