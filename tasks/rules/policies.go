package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// policiesEvery is how old the policies of a process may get.
	policiesEvery = job.LookEvery
	// policiesLate is how old they may get before a caller loads them in a process that
	// runs Follow.
	policiesLate = policiesEvery * 3 / 2
	// policiesWhole is how often all policies are loaded: another program may write them without
	// noting the change, or the store may lose the note.
	policiesWhole = time.Minute
	// PoliciesWithin is the longest time until every process follows a change: no script
	// judges by older policies. It also bounds a load of Follow.
	PoliciesWithin = sendlimit.MaxRulesAge
)

// Policies follows the policies in the store. It puts each change into Rules, which all
// judges of a process share, and logs it once. It is safe for concurrent use.
type Policies struct {
	client redis.UniversalClient
	store  *settings.Policies
	name   string             // of the policy for users whose settings name none
	rules  *sendlimit.Rules   // the last usable ones; the default policy before the first load
	Clock  *storeclock.Clocks // learns the store's clocks with every load
	logger *slog.Logger

	following atomic.Bool
	loading   chan struct{} // held by the caller that asks the store
	taking    sync.Mutex
	// toldStep is the begin of the last logged step of the store's clock, and toldBehind of a step
	// back; zero once it is over.
	toldStep, toldBehind time.Time

	current atomic.Pointer[snapshot]
	usable  atomic.Bool // rules are from the store
}

// snapshot is the policies of the store at a time.
type snapshot struct {
	set   *policySet
	asked time.Time
	whole time.Time // when all policies were last loaded
	last  int64     // the number of the last change in the set, see settings.Changes
}

// usable reports whether it is enough to read the changes since.
func (s *snapshot) usable() bool { return s != nil && s.set.missing == nil }

// since returns the number of the last change that need not be read again.
func (s *snapshot) since() int64 {
	if !s.usable() {
		return 0
	}
	return s.last
}

// NewPolicies returns Policies for the store behind client. own is the name of the policy
// for users whose settings name none; "" means policy.DefaultName. The logger receives
// every change. The error is a *fault.InvalidError.
func NewPolicies(client redis.UniversalClient, keys keyspace.Keys, own string, logger *slog.Logger) (*Policies, error) {
	rules, err := sendlimit.NewRules()
	if err != nil {
		return nil, err
	}
	p := &Policies{
		client: client, store: settings.NewPolicies(client, keys), name: cmp.Or(own, policy.DefaultName), rules: rules,
		Clock: storeclock.NewClocks(client, keys.PolicyChanges()), logger: logger, loading: make(chan struct{}, 1),
	}
	rules.ReloadBy(p.Reload)
	rules.UseClocks(p.Clock.Ahead)
	rules.TellTimes(func(user string, now time.Time) { p.Clock.OfUser(user).See(now) })
	return p, nil
}

// Name returns the name of the policy for users whose settings name none.
func (p *Policies) Name() string { return p.name }

// Rules returns the rules for a Timeline, a Gate and DeadLetters. Call Refresh before each
// use.
func (p *Policies) Rules() *sendlimit.Rules { return p.rules }

// Refresh makes sure that Rules has the policies of the store, at most policiesEvery old.
// It returns an error if the store does not answer or has no usable rules.
func (p *Policies) Refresh(ctx context.Context) error {
	set, err := p.present(ctx)
	if err != nil {
		return err
	}
	return set.err()
}

// RefreshOrLastKnown is Refresh for messages that were accepted before. If Refresh fails,
// the last known rules stay: a message on time needs none. It returns an error only if no
// rules are known yet, or while the store's clock can't be trusted.
func (p *Policies) RefreshOrLastKnown(ctx context.Context) error {
	err := p.Refresh(ctx)
	if p.usable.Load() && !errors.Is(err, fault.ErrClockStepped) {
		return nil
	}
	return err
}

// Now returns the store's time, as learned when the policies were loaded last.
func (p *Policies) Now() time.Time { return p.Clock.Now() }

// Find returns the policy of a name, at most policiesEvery old.
func (p *Policies) Find(ctx context.Context, name string) (found policy.Policy, ok bool, err error) {
	set, err := p.present(ctx)
	if err != nil {
		return policy.Policy{}, false, err
	}
	found, ok = set.find(name)
	return found, ok, nil
}

// UnknownRules reports whether an error says that this program does not know a user's rules: the
// settings name an unknown policy, or one that a newer program wrote, or can't be read; or the user's
// time zone or best hours have changed meanwhile. Other users are not affected.
func UnknownRules(err error) bool {
	return errors.Is(err, sendlimit.ErrUnknownPolicy) || errors.Is(err, policy.ErrUnreadableSettings) ||
		errors.Is(err, sendlimit.ErrOtherZone) || errors.Is(err, sendlimit.ErrOtherHours)
}

// Label returns the rule that refused an outcome, for a bounded number of counters: a rule
// of a policy, or "own/" and the window for a user's own limit. It is "" for no rule.
func (p *Policies) Label(o message.Outcome) string {
	name := o.RefusedBy()
	known := p.current.Load()
	if name == "" || known == nil || known.set.labels()[name] {
		return name
	}
	_, window, _ := strings.Cut(o.Violations[0].Rule, "/")
	return "own/" + window
}

// present returns policies that are at most policiesEvery old, or policiesLate if Follow
// runs. The first caller that finds them older loads them, and only that caller gets the
// error of the load. Others use the known ones meanwhile. If nothing is loaded yet, or
// the store has no rules, every caller loads, without waiting for others.
func (p *Policies) present(ctx context.Context) (*policySet, error) {
	known := p.current.Load()
	if known == nil || known.set.missing != nil {
		return p.load(ctx)
	}
	oldest := policiesEvery
	if p.following.Load() {
		oldest = policiesLate
	}
	if p.Clock.Local().Sub(known.asked) < oldest {
		return known.set, nil
	}
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
		return p.load(ctx)
	default:
		return known.set, nil
	}
}

// Reload loads the policies: callers that wait for a running load share the next one. A process that
// changes a policy calls it to follow the change at once.
func (p *Policies) Reload(ctx context.Context) error {
	began := p.Clock.Local()
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
	case <-ctx.Done():
		return p.orStepped(fmt.Errorf("waiting for the policies: %w", ctx.Err()))
	}
	if known := p.current.Load(); known != nil && known.asked.After(began) {
		return nil
	}
	_, err := p.load(ctx)
	return err
}

func (p *Policies) load(ctx context.Context) (*policySet, error) {
	asked := p.Clock.Local()
	now, err := p.Clock.Ask(ctx)
	if err != nil {
		return nil, p.orStepped(store.Explain(err, "asking the store for the time"))
	}
	known := p.current.Load()
	return p.learn(ctx, known, asked, now, func() (settings.Changes, error) { return p.store.Changed(ctx, known.since(), p.name) })
}

// ask is load in a look.
func (p *Policies) ask(ctx context.Context, pipe redis.Cmdable) func(context.Context, time.Time) error {
	known, asked := p.current.Load(), p.Clock.Local()
	changed := p.store.Ask(ctx, pipe, known.since(), p.name)
	return func(ctx context.Context, now time.Time) error {
		_, err := p.learn(ctx, known, asked, now, changed)
		return err
	}
}

// learn takes the policies after the changes since known ones, if the store's clock can be trusted.
func (p *Policies) learn(
	ctx context.Context, known *snapshot, asked, now time.Time, changed func() (settings.Changes, error),
) (*policySet, error) {
	p.tellStep(ctx, p.Clock.Stepped())
	p.tellBehind(ctx, p.Clock.FellBehind())
	if err := p.ClockError(); err != nil {
		return nil, err
	}
	changes, err := changed() // read before the policies: changes meanwhile are read again
	if err != nil {
		return nil, err
	}
	next, err := p.read(ctx, known, changes, asked, now)
	if err != nil {
		return nil, err
	}
	return p.take(ctx, next, now), nil
}

// read returns the policies of the store. It loads only those that have changed since
// known, and the own one. Without known ones, and after policiesWhole, it loads all.
func (p *Policies) read(ctx context.Context, known *snapshot, changes settings.Changes, asked, now time.Time) (*snapshot, error) {
	remembers := settings.Former(changes.Windows, now)
	if !known.usable() || changes.Lost || asked.Sub(known.whole) >= policiesWhole {
		policies, unreadable, err := p.store.All(ctx)
		if err != nil {
			return nil, err
		}
		set := p.setOf(policies, unreadable)
		set.remembers = remembers
		return &snapshot{set: set, asked: asked, whole: asked, last: changes.Last}, nil
	}
	names, policies, unreadable := []string{p.name}, changes.Named, changes.Unreadable
	var err error
	if len(changes.Names) > 0 {
		if names = changes.Names; !slices.Contains(names, p.name) {
			names = slices.Sorted(slices.Values(append(slices.Clone(names), p.name)))
		}
		if policies, unreadable, err = p.store.Named(ctx, names); err != nil {
			return nil, err
		}
	}
	set := p.changed(known.set, names, policies, unreadable)
	if set.remembers != remembers {
		other := *set
		set = &other
		set.remembers = remembers
	}
	return &snapshot{set: set, asked: asked, whole: known.whole, last: changes.Last}, nil
}

// take uses loaded policies and logs changes. It ignores them if a later load ended first. The load
// began at now by the store's main clock, or a little later.
func (p *Policies) take(ctx context.Context, next *snapshot, now time.Time) *policySet {
	p.taking.Lock()
	defer p.taking.Unlock()
	if known := p.current.Load(); known != nil {
		if next.asked.Before(known.asked) {
			return known.set
		}
		if next.set.equal(known.set) {
			next.set = known.set
		} else {
			p.tell(ctx, known.set, next.set)
			p.use(next.set)
		}
	} else {
		p.tellUnreadable(ctx, nil, next.set.unreadable)
		p.use(next.set)
	}
	p.rules.UseUntil(now.Add(PoliciesWithin))
	p.current.Store(next)
	return next.set
}

// use puts a set into Rules. Without an own policy the last rules stay.
func (p *Policies) use(set *policySet) {
	if set.missing != nil {
		return
	}
	p.rules.Remember(set.remembers)
	if set.unusable = p.rules.Replace(set.all()...); set.unusable == nil {
		p.usable.Store(true)
	}
}

// Follow loads the policies in every look until the returned function is
// called. A running Worker needs it, since it may have no callers.
func (p *Policies) Follow(ctx context.Context, looks *job.Looks) func() {
	p.following.Store(true)
	stop := looks.Repeat(ctx, p.look, p.ask, func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			p.logger.WarnContext(ctx, "could not load changes of policies: keeping the known ones", "error", err)
		}
	})
	return func() {
		stop()
		p.following.Store(false)
	}
}

func (p *Policies) look(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, PoliciesWithin)
	defer done()
	return p.Reload(ctx)
}
