package refit

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Refitter finds the reservations that do not fit a policy, and moves or cancels them.
// Other messages are sent as promised. After each batch of calls it rests for as long as they took,
// and so uses at most about half of the store's time. It is safe for concurrent use.
type Refitter struct {
	client    redis.UniversalClient
	submitter *submit.Submitter
	store     *settings.Policies
	users     *settings.Users
	own       string // name of the policy of users whose settings name none
	options   sendlimit.Options
	keys      keyspace.Keys
	clock     *storeclock.Clock
	rest      func(ctx context.Context, took time.Duration) error
}

// Options configure a Refitter.
type Options struct {
	submit.Options

	// Rest waits after calls to the store that took a time. If nil, it waits
	// that long, at most a second. It returns the error of an ended context.
	Rest func(ctx context.Context, took time.Duration) error
}

// New returns a Refitter on a backend. The error is a *fault.InvalidError. Close it.
func New(b *backend.Backend, o Options) (*Refitter, error) {
	submitter, err := submit.New(b, o.Options)
	if err != nil {
		return nil, err
	}
	r := &Refitter{
		client: b.Client, submitter: submitter, store: settings.NewPolicies(b.Client, b.Keys), users: settings.NewUsers(b.Client, b.Keys), own: b.Policies.Name(), rest: o.Rest, clock: storeclock.New(), options: b.Timeline,
		keys: b.Keys,
	}
	if r.rest == nil {
		r.rest = job.Rest
	}
	return r, nil
}

// Close waits for confirmations of moved messages that are being written. The client stays
// open.
func (r *Refitter) Close() error { return r.submitter.Close() }

// noTotals returns empty totals, with an object for the rules in JSON.
func noTotals() message.RefitTotals { return message.RefitTotals{MisfitsByRule: map[string]int{}} }

func countOutcome(s *message.RefitSummary, outcome string) {
	switch outcome {
	case message.Moved:
		s.Moved++
	case message.Cancelled:
		s.Cancelled++
	case message.MisfitKept:
		s.Kept++
	case message.MisfitGone:
		s.Gone++
	}
}

// Watcher receives the progress. Either function may be nil.
type Watcher struct {
	// Misfit is called for each misfit after its change. Its error ends the run.
	Misfit func(message.Misfit) error
	// Progress is called with how many of keyspace.Partitions are done: first with those
	// of an earlier run, then after each.
	Progress func(done int)
}

func (w Watcher) misfit(m message.Misfit) error {
	if w.Misfit == nil {
		return nil
	}
	return w.Misfit(m)
}

func (w Watcher) progress(done int) {
	if w.Progress != nil {
		w.Progress(done)
	}
}

// DryRun finds the reservations that would not fit a policy if it replaced the one of its
// name in the store, and counts those that do not fit the stored policy. It changes nothing.
// The summary is valid also with an error. The error is a *fault.InvalidError for an invalid policy,
// a *fault.UnavailableError, or that of the watcher.
func (r *Refitter) DryRun(ctx context.Context, p policy.Policy, w Watcher) (message.RefitSummary, error) {
	summary := message.RefitSummary{Outcome: message.DryRun, Policy: p.Name, RefitTotals: noTotals()}
	look, err := r.finder(ctx, p, r.throttle)
	if err != nil {
		return summary, err
	}
	present, err := r.baseline(ctx, p, &summary)
	if err != nil {
		return summary, err
	}
	w.progress(0)
	err = eachOccupied(ctx, look, &summary.Next, w, func() error {
		totals, err := look.Partition(ctx, summary.Next, func(_ context.Context, misfits []Misfit) error {
			for _, m := range misfits {
				if err := w.misfit(misfitOf(m)); err != nil {
					return err
				}
			}
			return nil
		})
		summary.Add(totals)
		if err != nil || present == nil {
			return err
		}
		totals, err = present.Partition(ctx, summary.Next, func(context.Context, []Misfit) error { return nil })
		summary.Baseline.MisfitUsers += totals.MisfitUsers
		summary.Baseline.Misfits += totals.Misfits
		for name, n := range totals.MisfitsByRule {
			summary.Baseline.MisfitsByRule[name] += n
		}
		return err
	})
	return summary, err
}

// baseline returns a finder for the stored policy, for a dry run of another
// one; nil if there is none, or the same.
func (r *Refitter) baseline(ctx context.Context, p policy.Policy, s *message.RefitSummary) (*Finder, error) {
	stored, ok, err := r.store.Load(ctx, p.Name)
	if _, unreadable := errors.AsType[*fault.UnavailableError](err); unreadable && ctx.Err() == nil {
		return nil, nil
	}
	if err != nil || !ok || stored.Equal(p) {
		return nil, err
	}
	s.Baseline = &message.RefitBaseline{Version: stored.Version, MisfitsByRule: map[string]int{}}
	return r.finder(ctx, stored, r.throttle)
}

// eachOccupied calls do for each partition from next on that has users, and reports the
// progress. Later messages in other partitions are judged by the policy when they are submitted.
func eachOccupied(ctx context.Context, finder *Finder, next *int, w Watcher, do func() error) error {
	occupied, err := finder.Occupied(ctx)
	if err != nil {
		return err
	}
	for ; *next < keyspace.Partitions; *next++ {
		if occupied[*next] {
			if err := do(); err != nil {
				return err
			}
		}
		w.progress(*next + 1)
	}
	return nil
}

// finder returns a finder for a policy, as if the store had it.
func (r *Refitter) finder(
	ctx context.Context, p policy.Policy, throttle func(context.Context, func() error) error,
) (*Finder, error) {
	policies, _, err := r.store.All(ctx)
	if err != nil {
		return nil, err
	}
	own := policy.Default()
	own.Name = r.own // without a policy of this name in the store, no user has it yet
	for _, stored := range policies {
		if stored.Name == r.own {
			own = stored
		}
	}
	o := r.options
	if o.Rules, err = sendlimit.NewRules(append([]policy.Policy{own}, policies...)...); err != nil {
		return nil, err
	}
	return NewFinder(r.client, o, FinderOptions{Policy: p, Throttle: throttle})
}

// throttle runs a batch, then rests for as long as it took.
func (r *Refitter) throttle(ctx context.Context, batch func() error) error {
	began := r.clock.Local()
	if err := batch(); err != nil {
		return err
	}
	return r.rest(ctx, r.clock.Local().Sub(began))
}
