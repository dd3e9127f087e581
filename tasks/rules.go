package tasks

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/judge"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// rules are the limiters under the store's policies, as Policies follows them.
type rules struct {
	policies *Policies
	client   redis.UniversalClient
	options  sendlimit.Options // but for the policies

	building sync.Mutex
	current  atomic.Pointer[limiters]
}

// limiters are the timeline and the gate between two changes of the policies.
type limiters struct {
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	set      *policySet
}

// newRules returns the rules that policies follow, or, where there are none, some
// that follow on their own.
func newRules(client redis.UniversalClient, policies *Policies, own PoliciesOptions, o sendlimit.Options) (*rules, error) {
	if policies == nil {
		var err error
		if policies, err = NewPolicies(client, own); err != nil {
			return nil, err
		}
	}
	o.Records, o.UserSettings, o.SettingsCache = true, true, policies.settings
	if _, err := sendlimit.NewTimeline(client, o); err != nil {
		return nil, err
	}
	return &rules{policies: policies, client: client, options: o}, nil
}

// limiters returns the limiters under the store's policies.
func (r *rules) limiters(ctx context.Context) (*limiters, error) {
	set, err := r.policies.present(ctx)
	if err != nil {
		return nil, err
	}
	return r.under(set)
}

// lastKnown returns the limiters for what was accepted before: where the store
// does not say what rules there are now, the last ones there were, as what is on
// time needs none.
func (r *rules) lastKnown(ctx context.Context) (*limiters, error) {
	l, err := r.limiters(ctx)
	if known := r.current.Load(); err != nil && known != nil {
		return known, nil
	}
	return l, err
}

// under makes the limiters under policies, unless they are known.
func (r *rules) under(set *policySet) (*limiters, error) {
	if known := r.current.Load(); known != nil && known.set == set {
		return known, nil
	}
	if set.missing != nil {
		return nil, set.missing
	}
	r.building.Lock()
	defer r.building.Unlock()
	if known := r.current.Load(); known != nil && known.set == set {
		return known, nil // another caller was quicker
	}
	o := r.options
	o.Policy, o.Policies = set.own, set.others
	timeline, err := sendlimit.NewTimeline(r.client, o)
	if err != nil {
		return nil, err
	}
	fresh := &limiters{timeline: timeline, gate: messages.GateOf(timeline), set: set}
	r.current.Store(fresh)
	return fresh, nil
}

// whatIf returns the timeline under a set of which one policy is another, which is
// not the store's. It keeps apart from the others what it knows of users' settings.
func (r *rules) whatIf(set *policySet, policy policy.Policy) (*sendlimit.Timeline, error) {
	o := r.options
	o.SettingsCache = nil
	var err error
	if o.Policy, o.Policies, err = set.with(policy); err != nil {
		return nil, err
	}
	return sendlimit.NewTimeline(r.client, o)
}

// UnknownRules says whether nothing was done for a user because this program does
// not know by which rules: the user's settings name a policy that is not there or
// that a newer program wrote, or can't be read themselves. Others are not affected.
func UnknownRules(err error) bool {
	return errors.Is(err, judge.ErrUnknownPolicy) || errors.Is(err, policy.ErrUnreadableSettings)
}

// do does what needs the limiters. Where the settings of a user name a policy that
// is younger than they are, it is done once more, under the policies there are
// now: an error then names what to do.
func (r *rules) do(ctx context.Context, l *limiters, what func(*limiters) error) error {
	err := what(l)
	if !errors.Is(err, judge.ErrUnknownPolicy) {
		return err
	}
	set, failed := r.policies.since(ctx, r.policies.local())
	if failed != nil {
		return failed
	}
	fresh, failed := r.under(set)
	if failed != nil || fresh == l {
		return err
	}
	return what(fresh)
}

// label is the rule that an outcome was refused by, for what is counted for ever:
// one of a policy's, or, of a user who has a limit of their own in place of it,
// own/ and the window.
func (r *rules) label(o Outcome) string {
	name := o.RefusedBy()
	known := r.policies.current.Load()
	if name == "" || known == nil || known.set.rules[name] {
		return name
	}
	_, window, _ := strings.Cut(o.Violations[0].Rule, "/")
	return "own/" + window
}
