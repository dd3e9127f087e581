package judge

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ErrUnknownPolicy is in the chain of the *UnavailableError for a user whose settings name a policy
// that Rules does not have.
var ErrUnknownPolicy = errors.New("the settings of a user name an unknown policy")

// Rulebook has the policies between two changes, compiled for the scripts. It uses the last known
// settings of users. It is safe for concurrent use.
type Rulebook struct {
	owner    *Rules
	policies []policy.Policy
	Base     *Ruleset // for users without settings
	byName   map[string]*Ruleset
	// Keep is the longest Keep of all rules, or that of Rules.Remember: older places do not count.
	// A user may get another policy with longer windows at any time.
	Keep  time.Duration
	until atomic.Int64 // Unix ms; see Rules.UseUntil
	// untilWord has the last argument of scripts.
	untilWord spelled[int64]
	// throttles says that some policy has a throttle.
	throttles bool
}

// UserRules are the rules for the messages of one user.
type UserRules struct {
	Rules   *Ruleset
	Version string // of the settings that were used; "" for none
	Blocked bool

	Book   *Rulebook           // of these rules
	former policy.FormerWindow // of the user's own rules
	best   policy.BestHours    // see Best
	// user is the name of the user; "" outside Rulebook.Run.
	user string
	// whole are the rules of which Rules is a part, see At; nil if At was not called.
	whole *Ruleset
	// until replaces the book's, if it is not 0.
	until int64
	// valid is until when the call may be made, see Call.Valid: Unix ms; 0 for any time.
	valid int64
	// when replaces the time of At, if it is not 0: Unix ms.
	when   int64
	bounds string // the send times to which Rules apply, see Ruleset.during
}

// newRulebook compiles policies; the first applies to users without settings. It reuses unchanged
// ones of the rulebook before, which may be nil. The error is an *InvalidError.
func newRulebook(owner *Rules, policies []policy.Policy, before *Rulebook) (*Rulebook, error) {
	b := &Rulebook{
		owner: owner, policies: policies, byName: make(map[string]*Ruleset, len(policies)),
		Keep: time.Duration(owner.remembers.Load()),
	}
	for _, p := range policies {
		if b.byName[p.Name] != nil {
			continue // the first policy with a name counts
		}
		rules := before.unchanged(p)
		if rules == nil {
			var err error
			if rules, err = b.compile(p, policy.UserSettings{}); err != nil {
				return nil, err
			}
		}
		if b.Base == nil {
			b.Base = rules
		}
		b.byName[p.Name], b.Keep = rules, max(b.Keep, rules.Keep)
		b.throttles = b.throttles || rules.throttled != any("")
	}
	return b, nil
}

// unchanged returns the rules of a policy that is the same in this rulebook, or nil.
func (b *Rulebook) unchanged(p policy.Policy) *Ruleset {
	if b == nil {
		return nil
	}
	rules := b.byName[p.Name]
	if rules == nil || rules.source.Version != p.Version || !rules.source.Equal(p) {
		return nil
	}
	return rules
}

func (b *Rulebook) compile(p policy.Policy, s policy.UserSettings) (*Ruleset, error) {
	rules, err := newRuleset(p, s, b.owner.settings.zones)
	if err != nil {
		return nil, err
	}
	rules.source = p
	return rules, nil
}

// CheckRecords returns an *InvalidError if a policy has rules of categories: only records have the
// category.
func (b *Rulebook) CheckRecords() error {
	for _, p := range b.policies {
		if len(p.Categories) > 0 {
			return &fault.InvalidError{
				Field: "categories", Value: p.Name,
				Want: "none without records: only records have a category",
			}
		}
	}
	return nil
}

// Of returns the rules for a user's messages, as last known, without a call of the store.
func (b *Rulebook) Of(user string) UserRules {
	if !b.owner.fixed {
		if cached, ok := b.owner.settings.users.Get(user); ok {
			if rules, err := b.rulesOf(cached); err == nil {
				s := &cached.settings
				return UserRules{Rules: rules, Version: s.Version, Blocked: s.Blocked, former: s.Former, best: s.BestHours, Book: b}
			}
			// The settings were learned under other policies. The scripts will find that no
			// settings were used, and Learn returns the error.
		}
	}
	return UserRules{Rules: b.Base, Book: b}
}

// Learn caches a user's settings that a script found. The error is an *UnavailableError: the
// settings can't be read, or name an unknown policy, see ErrUnknownPolicy.
func (b *Rulebook) Learn(user string, values map[string]string) error {
	users := b.owner.settings.users
	settings, err := policy.ReadSettings(values)
	if err != nil {
		users.Remove(user)
		return policy.UnreadableSettings(err)
	}
	if settings.Version == "" && settings.Equal(policy.UserSettings{}) { // a proposal for a user without settings has no version
		users.Remove(user)
		return nil
	}
	cached := &cachedSettings{settings: settings}
	if _, err := b.rulesOf(cached); err != nil {
		users.Remove(user)
		return err
	}
	users.Add(user, cached)
	return nil
}

// rulesOf returns the rules of these policies with a user's settings.
func (b *Rulebook) rulesOf(cached *cachedSettings) (*Ruleset, error) {
	s := cached.settings
	own := b.Base
	if s.Policy != "" {
		if own = b.byName[s.Policy]; own == nil {
			return nil, &fault.UnavailableError{
				Detail: fmt.Sprintf("policy %q, which the settings of the user name, is not in the store:"+
					" apply it, or give the user another policy", s.Policy),
				Err: ErrUnknownPolicy,
			}
		}
	}
	if !s.ChangesRules() {
		return own, nil
	}
	if c := cached.compiled.Load(); c != nil && c.own == own {
		return c.rules, nil
	}
	alike := sharedSettings{own, s.RulesKey()}
	rules, ok := b.owner.settings.shared.Get(alike)
	if !ok {
		var err error
		if rules, err = b.compile(own.source, s); err != nil {
			return nil, policy.UnreadableSettings(err)
		}
		b.owner.settings.shared.Add(alike, rules)
	}
	cached.compiled.Store(&compiledSettings{own: own, rules: rules})
	return rules, nil
}
