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

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
	// PoliciesWithin is how long every process takes at most to follow a change, and
	// bounds a look that nobody waits for.
	PoliciesWithin = 2 * time.Second
)

// PoliciesOptions configure Policies. The zero value is the default policy under
// the default prefix.
type PoliciesOptions struct {
	Prefix string       // of keys; "" means keyspace.DefaultPrefix
	Policy string       // name of the policy for users whose settings name none; "" means policy.DefaultName
	Logger *slog.Logger // is told of every change; nil means none
}

// Policies follows the policies in the store, the only place they live. It puts each
// change into Rules, which all that judges in a process shares, and logs it once. It
// is safe for concurrent use.
type Policies struct {
	store  *settings.Policies
	name   string           // of the policy for users whose settings name none
	rules  *sendlimit.Rules // the last that could be used; before any was loaded, the default policy
	Local  func() time.Time
	logger *slog.Logger

	following atomic.Bool
	loading   chan struct{} // has room for the caller who asks the store
	taking    sync.Mutex
	current   atomic.Pointer[snapshot]
	usable    atomic.Bool // rules are from the store
}

// snapshot is what the store had, and when it was asked.
type snapshot struct {
	set   *policySet
	asked time.Time
}

// policySet is the policies between two changes.
type policySet struct {
	own        policy.Policy
	others     []policy.Policy // by name
	unreadable []string        // names of those that a newer program wrote
	missing    error           // why there is no own policy; nil where there is
	unusable   error           // why Rules did not take the set; nil where it did
	rules      map[string]bool // by Violation.Name
}

// err says why no message can be judged by the set, nil where one can.
func (s *policySet) err() error {
	if s.missing != nil {
		return s.missing
	}
	return s.unusable
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
	rules, err := sendlimit.NewRules()
	if err != nil {
		return nil, err
	}
	p := &Policies{
		store: store, name: cmp.Or(o.Policy, policy.DefaultName), rules: rules,
		Local: storeclock.New().Local, logger: o.Logger, loading: make(chan struct{}, 1),
	}
	rules.ReloadBy(p.reload)
	return p, nil
}

// Name returns the name of the policy for users whose settings name none.
func (p *Policies) Name() string { return p.name }

// Rules returns what judges by the policies, for a Timeline, a Gate and DeadLetters.
// Refresh comes before each use of it.
func (p *Policies) Rules() *sendlimit.Rules { return p.rules }

// Refresh sees to it that Rules has the policies of the store, at most policiesEvery
// old. The error says that the store does not answer, or has no rules that can be
// used.
func (p *Policies) Refresh(ctx context.Context) error {
	set, err := p.present(ctx)
	if err != nil {
		return err
	}
	return set.err()
}

// RefreshOrLastKnown is Refresh for messages that were accepted before. Where the
// store does not say what rules there are now, the last ones go on: a message on time
// needs none. The error says that none are known yet.
func (p *Policies) RefreshOrLastKnown(ctx context.Context) error {
	err := p.Refresh(ctx)
	if p.usable.Load() {
		return nil
	}
	return err
}

// reload looks for younger policies: a user's settings name one that Rules does not
// have.
func (p *Policies) reload(ctx context.Context) error {
	return p.reloadSince(ctx, p.Local())
}

// Find returns the policy of a name, at most policiesEvery old.
func (p *Policies) Find(ctx context.Context, name string) (found policy.Policy, ok bool, err error) {
	set, err := p.present(ctx)
	if err != nil {
		return policy.Policy{}, false, err
	}
	found, ok = set.find(name)
	return found, ok, nil
}

// UnknownRules reports whether nothing was done for a user because this program does
// not know the user's rules: the settings name a policy that is not there or that a
// newer program wrote, or can't be read themselves. Others are not affected.
func UnknownRules(err error) bool {
	return errors.Is(err, sendlimit.ErrUnknownPolicy) || errors.Is(err, policy.ErrUnreadableSettings)
}

// Label returns the rule that refused an outcome, for counters that are kept for
// ever: a rule of a policy; or own/ and the window, for a user who has a limit of
// their own in its place.
func (p *Policies) Label(o message.Outcome) string {
	name := o.RefusedBy()
	known := p.current.Load()
	if name == "" || known == nil || known.set.rules[name] {
		return name
	}
	_, window, _ := strings.Cut(o.Violations[0].Rule, "/")
	return "own/" + window
}

// present returns policies that are at most policiesEvery old, or policiesLate
// where they are followed. The first caller who finds them older loads them; others
// go on with what there is meanwhile, and that caller alone is told where it fails.
// Where there is nothing yet every caller loads, so that none waits for another's
// attempt to reach the store; where the store has no rules, too, so that none waits
// for them once they are there.
func (p *Policies) present(ctx context.Context) (*policySet, error) {
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

// reloadSince loads the policies unless that was done after began: callers who wait
// for another's look share the next one.
func (p *Policies) reloadSince(ctx context.Context, began time.Time) error {
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the policies: %w", ctx.Err())
	}
	if known := p.current.Load(); known != nil && known.asked.After(began) {
		return nil
	}
	_, err := p.load(ctx)
	return err
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
			p.use(set)
		}
	} else {
		p.tellUnreadable(ctx, nil, set.unreadable)
		p.use(set)
	}
	p.current.Store(&snapshot{set: set, asked: asked})
	return set
}

// use puts a set into Rules. Without an own policy the last rules stay.
func (p *Policies) use(set *policySet) {
	if set.missing != nil {
		return
	}
	if set.unusable = p.rules.Replace(set.all()...); set.unusable == nil {
		p.usable.Store(true)
	}
}

// tell logs what has changed.
func (p *Policies) tell(ctx context.Context, before, now *policySet) {
	for _, policy := range now.all() {
		old, _ := before.find(policy.Name)
		if !same(old, policy) {
			p.logger.InfoContext(ctx, "the policy changed", "policy", policy.Name,
				"version_before", old.Version, "version", policy.Version, "rules", policy)
		}
	}
	for _, policy := range before.all() {
		if _, there := now.find(policy.Name); !there && !slices.Contains(now.unreadable, policy.Name) {
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
	return p.reloadSince(ctx, p.Local())
}

func (p *Policies) setOf(policies []policy.Policy, unreadable []string) *policySet {
	set := &policySet{unreadable: unreadable, rules: make(map[string]bool)}
	for _, policy := range policies {
		if policy.Name == p.name {
			set.own = policy
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
	case set.own.Name != "":
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
	return append([]policy.Policy{s.own}, s.others...)
}

func (s *policySet) find(name string) (policy.Policy, bool) {
	for _, policy := range s.all() {
		if policy.Name == name {
			return policy, true
		}
	}
	return policy.Policy{}, false
}

func (s *policySet) equal(other *policySet) bool {
	return same(s.own, other.own) && slices.EqualFunc(s.others, other.others, same) && slices.Equal(s.unreadable, other.unreadable)
}

// same says whether a policy is another, of the same version: one that was
// changed and changed back has changed.
func same(p, other policy.Policy) bool { return p.Version == other.Version && p.Equal(other) }
