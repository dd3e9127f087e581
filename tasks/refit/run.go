package refit

import (
	"context"
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// RunningError is returned if another run for the same policy has the turn.
type RunningError struct{ Policy string }

// Error names the policy.
func (e *RunningError) Error() string {
	return fmt.Sprintf("another program is refitting policy %q right now:"+
		" wait for that to end, or stop it and try again", e.Policy)
}

// Code returns fault.CodeRefitRunning.
func (e *RunningError) Code() fault.Code { return fault.CodeRefitRunning }

// PolicyReplacedError is returned if the policy was replaced before or during the run.
type PolicyReplacedError struct {
	Policy        string
	Version, Then int64 // the old one, and the present one
}

// Error names the policy and its versions.
func (e *PolicyReplacedError) Error() string {
	return fmt.Sprintf("policy %q was replaced meanwhile: it was version %d and is now version %d", e.Policy, e.Version, e.Then)
}

// Code returns fault.CodeVersionMismatch.
func (e *PolicyReplacedError) Code() fault.Code { return fault.CodeVersionMismatch }

// refitRun is one call of Refitter.Run.
type refitRun struct {
	*Refitter

	finder  *Finder
	job     *job.Run
	policy  policy.Policy
	action  message.RefitAction
	reason  string // of moves, see submit.Submitter.MoveFrom
	watcher Watcher
	summary message.RefitSummary
	tally   tally
}

// Run applies an action to the reservations that do not fit a policy of the store. First it waits
// until every process follows the policy, so that it also finds messages that were accepted under
// the old rules until then. It ignores messages that others send, move or cancel meanwhile.
//
// It can be stopped or killed at any time. Another call for the same version of the policy
// and the same action, by any program, continues with the same partition. The
// summary includes the earlier runs, and is valid also with an error.
// It may lack the last message of a killed run. The error is a *RunningError, a
// *PolicyReplacedError, a *fault.InvalidError, a *fault.UnavailableError, or that of the
// watcher.
func (r *Refitter) Run(ctx context.Context, policy policy.Policy, action message.RefitAction, w Watcher) (message.RefitSummary, error) {
	run := &refitRun{Refitter: r, policy: policy, action: action, watcher: w, summary: message.RefitSummary{
		Outcome: message.Refitted, Policy: policy.Name, Version: policy.Version, Action: action, RefitTotals: noTotals(),
	}}
	if _, err := message.ParseRefitAction(string(action)); err != nil {
		return run.summary, err
	}
	if err := run.current(ctx); err != nil {
		return run.summary, err
	}
	if action == message.RefitKeep {
		run.summary.Next = keyspace.Partitions
		return run.summary, nil
	}
	err := run.all(ctx)
	return run.summary, err
}

// unchanged returns an error unless the store has had the policy lately.
func (r *refitRun) unchanged(ctx context.Context) error {
	p, ok, err := r.submitter.Policies.Find(ctx, r.policy.Name)
	if err != nil {
		return err
	}
	if ok && p.Version == r.policy.Version {
		return nil
	}
	return r.current(ctx)
}

// current returns an error unless the store has the policy now.
func (r *refitRun) current(ctx context.Context) error {
	now, ok, err := r.store.Load(ctx, r.policy.Name)
	switch {
	case err != nil:
		return err
	case !ok:
		return fault.Wrong("policy", "there is no policy %q", r.policy.Name)
	case now.Version != r.policy.Version:
		return &PolicyReplacedError{Policy: r.policy.Name, Version: r.policy.Version, Then: now.Version}
	default:
		return nil
	}
}

// all takes the turn and works through the remaining partitions.
func (r *refitRun) all(ctx context.Context) error {
	work := fmt.Sprintf("%d %s", r.policy.Version, r.action)
	key := r.keys.Turn(keyspace.RefitWork(r.policy.Name))
	run, notes, err := job.Begin(ctx, turn.NewJob(r.client, key, work), &RunningError{Policy: r.policy.Name})
	if err != nil {
		return err
	}
	r.job = run
	r.continueFrom(notes)
	r.watcher.progress(r.summary.Next)
	if err := r.remaining(ctx); err != nil {
		r.job.Stop(ctx, r.notes(r.summary.Next))
		return err
	}
	return r.job.Done(ctx)
}

// remaining waits until every process follows the policy, and works through the partitions that no
// earlier run has finished.
func (r *refitRun) remaining(ctx context.Context) (err error) {
	if !storeclock.Sleep(ctx, nil, rules.PoliciesWithin) {
		return fmt.Errorf("waiting until every process follows the policy: %w", ctx.Err())
	}
	if r.finder, err = r.Refitter.finder(ctx, r.policy, r.throttle); err != nil {
		return err
	}
	err = eachOccupied(ctx, r.finder, &r.summary.Next, r.watcher, func() error { return r.partition(ctx) })
	if err != nil {
		return err
	}
	return r.current(ctx)
}

func (r *refitRun) partition(ctx context.Context) error {
	if err := r.unchanged(ctx); err != nil {
		return err
	}
	totals, err := r.finder.Partition(ctx, r.summary.Next, func(ctx context.Context, misfits []Misfit) error {
		for i, m := range misfits {
			r.tally.last = i+1 == len(misfits) || misfits[i+1].User != m.User
			if err := r.one(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
	r.summary.Add(totals)
	if err != nil {
		return err
	}
	r.tally = newTally(r.summary)
	return r.job.Keep(ctx, r.notes(r.summary.Next+1))
}

// one applies the action to a misfit, unless it has changed.
func (r *refitRun) one(ctx context.Context, m Misfit) error {
	if err := r.unchanged(ctx); err != nil {
		return err
	}
	var done message.Misfit
	err := r.throttle(ctx, func() (err error) {
		if r.action == message.RefitShift {
			done, err = r.shift(ctx, m)
		} else {
			done, err = r.cancel(ctx, m)
		}
		return err
	})
	if done.Outcome == message.MisfitFound || done.Outcome == "" {
		return err
	}
	countOutcome(&r.summary, done.Outcome)
	r.tally.add(done)
	return errors.Join(err, r.job.Keep(ctx, r.notes(r.summary.Next)), r.watcher.misfit(done))
}

// throttle keeps the turn, runs a batch, and rests.
func (r *refitRun) throttle(ctx context.Context, batch func() error) error {
	if err := r.job.KeepOften(ctx, func() string { return r.notes(r.summary.Next) }); err != nil {
		return err
	}
	return r.Refitter.throttle(ctx, batch)
}
