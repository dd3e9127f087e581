package judge

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ErrUnknownPolicy is in the chain of the *UnavailableError for a user whose
// settings name a policy that Rules does not have.
var ErrUnknownPolicy = errors.New("the settings of a user name a policy that is not known")

// Rulebook has the policies between two changes, compiled for the scripts. It uses
// the settings of users as last learned. It is safe for concurrent use.
type Rulebook struct {
	owner    *Rules
	policies []policy.Policy
	Base     *Ruleset // for users without settings
	byName   map[string]*Ruleset
	Keep     time.Duration                // the longest of all: older places do not count
	keep     any                          // Keep, ms
	shared   *lru.Cache[string, *Ruleset] // of users who have the same settings
	until    atomic.Int64                 // Unix ms; see Rules.UseUntil
}

// sharedRulesets is the number of different settings whose rules a rulebook keeps
// beside those of the cached users.
const sharedRulesets = 1024

// UserRules is what judges the messages of one user.
type UserRules struct {
	Rules   *Ruleset
	Version string // of the settings that were used; "" for none
	Blocked bool

	Book *Rulebook // of these rules
	// until replaces that of the book, if it is not 0.
	until int64
}

// newRulebook compiles policies; the first applies to users without settings.
// The error is an *InvalidError.
func newRulebook(owner *Rules, policies []policy.Policy) (*Rulebook, error) {
	b := &Rulebook{owner: owner, policies: policies, byName: make(map[string]*Ruleset, len(policies))}
	var err error
	if b.shared, err = lru.New[string, *Ruleset](sharedRulesets); err != nil {
		return nil, fmt.Errorf("rules of users: %w", err)
	}
	for _, p := range policies {
		if b.byName[p.Name] != nil {
			continue // the first of a name counts
		}
		rules, err := b.compile(p, policy.UserSettings{})
		if err != nil {
			return nil, err
		}
		if b.Base == nil {
			b.Base = rules
		}
		b.byName[p.Name], b.Keep = rules, max(b.Keep, rules.Keep)
	}
	b.keep = b.Keep.Milliseconds()
	return b, nil
}

func (b *Rulebook) compile(p policy.Policy, s policy.UserSettings) (*Ruleset, error) {
	return newRuleset(p, s, b.owner.settings.zones)
}

// CheckRecords returns an *InvalidError if a policy has rules of categories: only
// records have the category.
func (b *Rulebook) CheckRecords() error {
	for _, p := range b.policies {
		if len(p.Categories) > 0 {
			return &fault.InvalidError{
				Field: "categories", Value: p.Name,
				Want: "none without records: what category a message is of stands there",
			}
		}
	}
	return nil
}

// Of returns what judges a user's messages, as last known. It does not ask the store.
func (b *Rulebook) Of(user string) UserRules {
	if !b.owner.fixed {
		if cached, ok := b.owner.settings.users.Get(user); ok {
			if rules, err := b.rulesOf(cached); err == nil {
				return UserRules{Rules: rules, Version: cached.settings.Version, Blocked: cached.settings.Blocked, Book: b}
			}
			// The settings were learned under other policies. The scripts will find that
			// no settings were used, and Learn returns the error.
		}
	}
	return UserRules{Rules: b.Base, Book: b}
}

// Learn remembers a user's settings as a script found them. The error is an
// *UnavailableError: the settings can't be read, or name a policy that is not
// known, see ErrUnknownPolicy.
func (b *Rulebook) Learn(user string, values map[string]string) error {
	users := b.owner.settings.users
	settings, err := policy.ReadSettings(values)
	if err != nil {
		users.Remove(user)
		return policy.UnreadableSettings(err)
	}
	if settings.Version == "" {
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

// rulesOf returns the rules of these policies under a user's settings.
func (b *Rulebook) rulesOf(cached *cachedSettings) (*Ruleset, error) {
	if c := cached.compiled.Load(); c != nil && c.book == b {
		return c.rules, nil
	}
	s := cached.settings
	rules := b.Base
	if s.Policy != "" {
		if rules = b.byName[s.Policy]; rules == nil {
			return nil, &fault.UnavailableError{
				Detail: fmt.Sprintf("policy %q, which the settings of the user name, is not in the store:"+
					" apply it, or give the user another policy", s.Policy),
				Err: ErrUnknownPolicy,
			}
		}
	}
	if s.ChangesRules() {
		alike := s.RulesKey()
		known, ok := b.shared.Get(alike)
		if !ok {
			var err error
			if known, err = b.compile(rules.Policy, s); err != nil {
				return nil, policy.UnreadableSettings(err)
			}
			b.shared.Add(alike, known)
		}
		rules = known
	}
	cached.compiled.Store(&compiledSettings{book: b, rules: rules})
	return rules, nil
}
