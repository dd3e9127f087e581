package job

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// lasts is how long a turn lasts unless it is kept, often how often to keep it. After a killed run, the
// next one waits for lasts.
const (
	lasts = 10 * time.Second
	often = 3 * time.Second
)

// Run is a job that this program has the turn of.
type Run struct {
	turn  *turn.Job
	clock *storeclock.Clock
	other error // returned if another program has the turn
	kept  time.Time
}

// Begin takes the turn, and returns the notes of the run that it continues, "" for none. It waits
// once for the end of another turn, which a killed run does not keep. The error is
// other if a running program keeps it.
func Begin(ctx context.Context, t *turn.Job, other error) (r *Run, notes string, err error) {
	r = &Run{turn: t, clock: storeclock.New(), other: other}
	for waited := false; ; waited = true {
		notes, taken, wait, err := t.Take(ctx, lasts)
		switch {
		case err != nil:
			return nil, "", err
		case taken:
			r.kept = r.clock.Local()
			return r, notes, nil
		case waited:
			return nil, "", other
		}
		const margin = 50 * time.Millisecond
		if !storeclock.Sleep(ctx, nil, min(wait, lasts)+margin) {
			return nil, "", fmt.Errorf("waiting for an earlier run to end: %w", ctx.Err())
		}
	}
}

// Keep keeps the turn, with notes for the next run. The error is other if another program has it.
func (r *Run) Keep(ctx context.Context, notes string) error {
	local := r.clock.Local()
	kept, err := r.turn.Keep(ctx, notes, lasts)
	if err != nil {
		return err
	}
	if !kept {
		return r.other
	}
	r.kept = local
	return nil
}

// KeepOften is Keep if some time has passed since the last.
func (r *Run) KeepOften(ctx context.Context, notes func() string) error {
	if r.clock.Local().Sub(r.kept) < often {
		return nil
	}
	return r.Keep(ctx, notes())
}

// Stop gives the turn back, so that the next run can begin at once. If that fails, the next run
// waits a little.
func (r *Run) Stop(ctx context.Context, notes string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = r.turn.Keep(ctx, notes, 0) // otherwise the turn ends after a while
}

// Done ends the job, and removes its notes.
func (r *Run) Done(ctx context.Context) error { return r.turn.Done(ctx) }

// longestRest bounds a rest: calls that took longer were held up by something else.
const longestRest = time.Second

// Rest waits for as long as calls to the store took, at most a second. The error is that of a
// context that ended.
func Rest(ctx context.Context, took time.Duration) error {
	if !storeclock.Sleep(ctx, nil, min(took, longestRest)) {
		return fmt.Errorf("resting: %w", ctx.Err())
	}
	return nil
}
