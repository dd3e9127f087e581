package rules

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
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// rules are the limiters under the store's policies, as Policies follows them.
type Rules struct {
	Policies *Policies
	client   redis.UniversalClient
	options  sendlimit.Options // but for the policies

	building sync.Mutex
	current  atomic.Pointer[Limiters]
}

// limiters are the timeline and the gate between two changes of the policies.
type Limiters struct {
	Timeline *sendlimit.Timeline
	Gate     *messages.Gate
	Set      *policySet
}

// New returns the rules that policies follow, or, where there are none, some
// that follow on their own.
func New(client redis.UniversalClient, policies *Policies, own PoliciesOptions, o sendlimit.Options) (*Rules, error) {
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
	return &Rules{Policies: policies, client: client, options: o}, nil
}

// limiters returns the limiters under the store's policies.
func (r *Rules) Limiters(ctx context.Context) (*Limiters, error) {
	set, err := r.Policies.Present(ctx)
	if err != nil {
		return nil, err
	}
	return r.under(set)
}

// lastKnown returns the limiters for what was accepted before: where the store
// does not say what rules there are now, the last ones there were, as what is on
// time needs none.
func (r *Rules) LastKnown(ctx context.Context) (*Limiters, error) {
	l, err := r.Limiters(ctx)
	if known := r.current.Load(); err != nil && known != nil {
		return known, nil
	}
	return l, err
}

// under makes the limiters under policies, unless they are known.
func (r *Rules) under(set *policySet) (*Limiters, error) {
	if known := r.current.Load(); known != nil && known.Set == set {
		return known, nil
	}
	if set.missing != nil {
		return nil, set.missing
	}
	r.building.Lock()
	defer r.building.Unlock()
	if known := r.current.Load(); known != nil && known.Set == set {
		return known, nil // another caller was quicker
	}
	o := r.options
	o.Policy, o.Policies = set.Own, set.others
	timeline, err := sendlimit.NewTimeline(r.client, o)
	if err != nil {
		return nil, err
	}
	fresh := &Limiters{Timeline: timeline, Gate: messages.GateOf(timeline), Set: set}
	r.current.Store(fresh)
	return fresh, nil
}

// whatIf returns the timeline under a set of which one policy is another, which is
// not the store's. It keeps apart from the others what it knows of users' settings.
func (r *Rules) WhatIf(set *policySet, policy policy.Policy) (*sendlimit.Timeline, error) {
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
func (r *Rules) Do(ctx context.Context, l *Limiters, what func(*Limiters) error) error {
	err := what(l)
	if !errors.Is(err, judge.ErrUnknownPolicy) {
		return err
	}
	set, failed := r.Policies.since(ctx, r.Policies.Local())
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
func (r *Rules) Label(o message.Outcome) string {
	name := o.RefusedBy()
	known := r.Policies.current.Load()
	if name == "" || known == nil || known.set.rules[name] {
		return name
	}
	_, window, _ := strings.Cut(o.Violations[0].Rule, "/")
	return "own/" + window
}
