package rules

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	// policiesEvery is how old the policies that a process goes by may get.
	policiesEvery = time.Second
	// policiesLate is how old they get before a caller looks, where somebody follows
	// them for all.
	policiesLate = policiesEvery * 3 / 2
	// policiesWithin is how long every process takes at most to follow a change, and
	// bounds a look that nobody waits for.
	PoliciesWithin = 2 * time.Second
)

// PoliciesOptions configure Policies. The zero value is the default policy under
// the default prefix.
type PoliciesOptions struct {
	Prefix string       // as in SubmitterOptions
	Policy string       // as in SubmitterOptions
	Logger *slog.Logger // is told of every change; nil means none
}

// Policies follows the policies in the store, the only place they live, for all
// in a process that goes by them: what they know of users' settings is known once,
// and a change is logged once. They are safe for concurrent use.
type Policies struct {
	store    *settings.Policies
	name     string               // of the one for users whose settings name no other
	settings *judge.SettingsCache // of users
	Local    func() time.Time
	logger   *slog.Logger

	following atomic.Bool
	loading   chan struct{} // has room for the one who asks the store
	taking    sync.Mutex
	current   atomic.Pointer[snapshot]
}

// snapshot is what the store had, and when it was asked.
type snapshot struct {
	set   *policySet
	asked time.Time
}

// policySet is the policies between two changes.
type policySet struct {
	Own        policy.Policy
	others     []policy.Policy // by name
	unreadable []string        // names of those that a newer program wrote
	missing    error           // why there is no own policy; nil where there is
	rules      map[string]bool // by Violation.Name
}

// NewPolicies follows the policies in the store behind client. The error is a
// *sendlimit.InvalidError.
func NewPolicies(client redis.UniversalClient, o PoliciesOptions) (*Policies, error) {
	store, err := settings.NewPolicies(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Policies{
		store: store, name: cmp.Or(o.Policy, policy.DefaultName), settings: judge.NewSettingsCache(),
		Local: storeclock.New().Local, logger: o.Logger, loading: make(chan struct{}, 1),
	}, nil
}

// present returns policies that are at most policiesEvery old, or policiesLate
// where they are followed. The first caller who finds them older loads them; others
// go on with what there is meanwhile, and that caller alone is told where it fails.
// Where there is nothing yet every caller loads, so that none waits for another's
// attempt to reach the store; where the store has no rules, too, so that none waits
// for them once they are there.
func (p *Policies) Present(ctx context.Context) (*policySet, error) {
	known := p.current.Load()
	if known == nil || known.set.missing != nil {
		return p.load(ctx)
	}
	oldest := policiesEvery
	if p.following.Load() {
		oldest = policiesLate
	}
	if p.Local().Sub(known.asked) < oldest {
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

// since returns policies that were asked for after a time: callers who wait for
// another's look share the next one.
func (p *Policies) since(ctx context.Context, began time.Time) (*policySet, error) {
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the policies: %w", ctx.Err())
	}
	if known := p.current.Load(); known != nil && known.asked.After(began) {
		return known.set, nil
	}
	return p.load(ctx)
}

// load asks the store.
func (p *Policies) load(ctx context.Context) (*policySet, error) {
	asked := p.Local()
	policies, unreadable, err := p.store.All(ctx)
	if err != nil {
		return nil, err
	}
	return p.take(ctx, p.setOf(policies, unreadable), asked), nil
}

// take notes what the store had, and says what has changed. An answer that
// another, asked for later, has overtaken is none.
func (p *Policies) take(ctx context.Context, set *policySet, asked time.Time) *policySet {
	p.taking.Lock()
	defer p.taking.Unlock()
	if known := p.current.Load(); known != nil {
		if asked.Before(known.asked) {
			return known.set
		}
		if set.equal(known.set) {
			set = known.set
		} else {
			p.tell(ctx, known.set, set)
		}
	} else {
		p.tellUnreadable(ctx, nil, set.unreadable)
	}
	p.current.Store(&snapshot{set: set, asked: asked})
	return set
}

// tell logs what has changed.
func (p *Policies) tell(ctx context.Context, before, now *policySet) {
	for _, policy := range now.all() {
		old, _ := before.Find(policy.Name)
		if !same(old, policy) {
			p.logger.InfoContext(ctx, "the policy changed", "policy", policy.Name,
				"version_before", old.Version, "version", policy.Version, "rules", policy)
		}
	}
	for _, policy := range before.all() {
		if _, there := now.Find(policy.Name); !there && !slices.Contains(now.unreadable, policy.Name) {
			p.logger.WarnContext(ctx, "the policy is gone, and nothing is accepted under it: apply it anew", "policy", policy.Name)
		}
	}
	p.tellUnreadable(ctx, before.unreadable, now.unreadable)
}

func (p *Policies) tellUnreadable(ctx context.Context, before, now []string) {
	for _, name := range now {
		if !slices.Contains(before, name) {
			p.logger.WarnContext(ctx, "the policy can't be read, and nothing is accepted under it:"+
				" apply it anew, or run the newer program that wrote it", "policy", name)
		}
	}
}

// Follow loads the policies again and again, until the function returned is called:
// for a process in which nobody may ask for them, so that it knows of a change all
// the same, and says so. A Worker that runs does it.
func (p *Policies) Follow(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.following.Store(true)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(policiesEvery)
		defer tick.Stop()
		for failed := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := p.look(ctx)
			if err != nil && !failed && ctx.Err() == nil {
				p.logger.WarnContext(ctx, "could not look for changes of policies: going on with those known", "error", err)
			}
			failed = err != nil
		}
	})
	return func() {
		cancel()
		done.Wait()
		p.following.Store(false)
	}
}

func (p *Policies) look(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, PoliciesWithin)
	defer done()
	_, err := p.since(ctx, p.Local())
	return err
}

func (p *Policies) setOf(policies []policy.Policy, unreadable []string) *policySet {
	set := &policySet{unreadable: unreadable, rules: make(map[string]bool)}
	for _, policy := range policies {
		if policy.Name == p.name {
			set.Own = policy
		} else {
			set.others = append(set.others, policy)
		}
		for _, rule := range policy.Rules {
			set.rules[message.RuleName("", rule)] = true
		}
		for category, its := range policy.Categories {
			for _, rule := range its.Rules {
				set.rules[message.RuleName(category, rule)] = true
			}
		}
	}
	switch {
	case set.Own.Name != "":
	case slices.Contains(unreadable, p.name):
		set.missing = &fault.UnavailableError{
			Detail: fmt.Sprintf("the rules of policy %q in the store can't be read: apply them anew, or run the newer program that wrote them", p.name),
		}
	default:
		set.missing = NoRules()
	}
	return set
}

// NoRules returns the error of a store that nobody has given a policy, a
// *sendlimit.UnavailableError.
func NoRules() error {
	return &fault.UnavailableError{
		Detail: "the store has no rules yet: start a worker on it, or give it some with worker policy apply FILE",
	}
}

// all are the policies that can be read.
func (s *policySet) all() []policy.Policy {
	if s.missing != nil {
		return s.others
	}
	return append([]policy.Policy{s.Own}, s.others...)
}

func (s *policySet) Find(name string) (policy.Policy, bool) {
	for _, policy := range s.all() {
		if policy.Name == name {
			return policy, true
		}
	}
	return policy.Policy{}, false
}

func (s *policySet) equal(other *policySet) bool {
	return same(s.Own, other.Own) && slices.EqualFunc(s.others, other.others, same) && slices.Equal(s.unreadable, other.unreadable)
}

// same says whether a policy is another, of the same version: one that was
// changed and changed back has changed.
func same(p, other policy.Policy) bool { return p.Version == other.Version && p.Equal(other) }
