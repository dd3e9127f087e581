package callbacks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// maxPosted is the most events of a request.
	maxPosted = 100
	// longestAsked bounds a Retry-After.
	longestAsked = time.Hour
)

// batchSize returns the most events of the next request after failures: fewer may succeed.
func batchSize(failures int) int { return max(maxPosted>>min(failures, 10), 1) }

// send posts the next events of a turn and settles it. It returns the wait before the next look.
func (s *Sender) send(ctx context.Context, turn events.Turn, ended <-chan struct{}) time.Duration {
	if turn.Lost > 0 {
		s.Metrics.EventsLost(turn.Lost)
		s.Logger.WarnContext(ctx, "events were removed before the callback got them: there were too many, or they were too old",
			"account", turn.Account, "events", turn.Lost)
	}
	callback, ok, err := s.Accounts.Callback(ctx, turn.Account)
	if err == nil && !ok {
		err = s.Callbacks.Forget(ctx, turn.Account)
	}
	var batch []events.Event
	if err == nil && ok {
		batch, err = s.Log.Read(ctx, turn.Account, turn.Cursor, batchSize(turn.Attempts))
	}
	if err != nil {
		s.Logger.DebugContext(ctx, "could not read the events of a callback: trying again", "error", err)
		s.settle(ctx, turn, events.Outcome{}, ended)
		return longestIdle
	}
	if len(batch) == 0 { // the callback was removed, or the events were
		s.settle(ctx, turn, events.Outcome{}, ended)
		return shortestIdle
	}
	body, err := json.Marshal(EventsOf(turn.Account, batch))
	if err != nil {
		s.Logger.ErrorContext(ctx, "can't encode events", "account", turn.Account, "error", err)
		return longestWait
	}
	last := batch[len(batch)-1].ID
	result := s.post(ctx, webhook.Batch{
		URL: callback.URL, Secrets: callback.Secrets, Account: turn.Account, First: batch[0].ID, Last: last, Body: body,
	})
	pace := time.Second / time.Duration(s.Rate)
	if result.Status == notifier.Delivered {
		s.settle(ctx, turn, events.Outcome{Wait: pace, Last: last, Count: len(batch)}, ended)
		s.Metrics.EventsPosted(len(batch))
		return pace
	}
	s.failedOnce(ctx, turn, result)
	outcome := events.Outcome{
		Reason: string(result.Reason),
		Wait:   max(s.Retries.Wait(turn.Attempts+1, min(result.RetryAfter, longestAsked)), pace),
	}
	outcome.Last, outcome.Count = s.givenUp(ctx, turn)
	if dead := s.settle(ctx, turn, outcome, ended); dead > 0 {
		s.Metrics.EventsDead(dead)
		s.Logger.WarnContext(ctx, "gave up events: they are among the dead events", "account", turn.Account,
			"events", dead, "reason", outcome.Reason)
	}
	return min(outcome.Wait, longestWait)
}

// post posts a batch, and reads the rest of the answer.
func (s *Sender) post(ctx context.Context, b webhook.Batch) notifier.Result {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	ctx, clean := notifier.WithCleanup(ctx)
	defer clean()
	return s.Poster.Post(ctx, b)
}

// failedOnce counts a request that failed, and logs the first in a row.
func (s *Sender) failedOnce(ctx context.Context, turn events.Turn, result notifier.Result) {
	s.Metrics.CallbackFailed(string(result.Reason))
	if turn.Attempts == 0 {
		s.Logger.WarnContext(ctx, "a callback does not accept events: trying again", "account", turn.Account,
			"reason", result.Reason, "error", result.Err)
	}
}

// givenUp returns the last event after the cursor that was tried for GiveUp, and how many
// there are up to it. The time begins with the event or with the first failure, whichever is later.
func (s *Sender) givenUp(ctx context.Context, turn events.Turn) (last string, count int) {
	stepped := s.Clock.Stepped() != (storeclock.Step{}) // by a wrong clock all may seem old
	if stepped || turn.Attempts == 0 || turn.Now.Sub(turn.Failing) < s.GiveUp {
		return "", 0
	}
	until := uint64(turn.Now.Add(-s.GiveUp).UnixMilli())
	waiting, err := s.Log.Read(ctx, turn.Account, turn.Cursor, events.MaxRead)
	if err != nil {
		return "", 0 // the next failure finds them
	}
	for _, e := range waiting {
		if came, _, _ := events.ParseID(e.ID); came > until {
			break
		}
		last, count = e.ID, count+1
	}
	return last, count
}

// settle ends a turn, and repeats that until it is stored. It returns how many events became dead.
func (s *Sender) settle(ctx context.Context, turn events.Turn, o events.Outcome, ended <-chan struct{}) (dead int) {
	failed := func(ctx context.Context, err error) {
		s.Logger.DebugContext(ctx, "could not settle a request to a callback: trying until it is stored", "error", err)
	}
	held, err := persist.Settle(ctx, ended, failed, func(ctx context.Context) (held bool, err error) {
		dead, held, err = s.Callbacks.Settle(ctx, turn, o)
		return held, err
	})
	switch {
	case err != nil && !persist.Unavailable(err):
		s.Logger.WarnContext(ctx, "could not settle a request to a callback", "account", turn.Account, "error", err)
	case err == nil && !held:
		s.Logger.DebugContext(ctx, "another worker has taken over a callback, or it was removed", "account", turn.Account)
	}
	return dead
}
