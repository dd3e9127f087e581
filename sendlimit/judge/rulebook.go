package judge

import (
	"errors"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ErrUnknownPolicy is in the chain of the *UnavailableError that is returned for a
// user whose settings name a policy that is not among Options.Policies: whoever
// follows the policies in the store looks there anew.
var ErrUnknownPolicy = errors.New("the settings of a user name a policy that is not known")

// rulebook finds the rules that a user's messages are judged by: those of the
// policy that the user's settings name, as it is with them. It takes the settings
// as they were when it last learned them, and the scripts say if they are others.
// It is safe for concurrent use.
type Rulebook struct {
	Base     *Ruleset // of whoever has no settings
	byName   map[string]*Ruleset
	Keep     time.Duration // the longest of their keeps: what no user's rules count any more
	settings bool          // whether single users' settings are honoured
	Cache    *SettingsCache
	shared   *lru.Cache[string, *Ruleset] // of users who have the same settings
}

// sharedRulesets is of how many different settings a rulebook keeps the rules
// beside those that the cached users have.
const sharedRulesets = 1024

// userRules are what the messages of one user are judged by.
type UserRules struct {
	Rules   *Ruleset
	Version string // of the settings that were taken; "" for none
	Blocked bool
	fixed   bool // settings are not honoured
}

// newRulebook makes policies ready: own judges whoever has no settings, others are
// those that settings may name beside it. A nil cache means a new one. The error is
// an *InvalidError.
func NewRulebook(own policy.Policy, others []policy.Policy, userSettings bool, cache *SettingsCache) (*Rulebook, error) {
	b := &Rulebook{
		byName:   make(map[string]*Ruleset, len(others)+1),
		settings: userSettings, Cache: cache,
	}
	if b.Cache == nil {
		b.Cache = NewSettingsCache()
	}
	var err error
	if b.shared, err = lru.New[string, *Ruleset](sharedRulesets); err != nil {
		return nil, fmt.Errorf("rules of users: %w", err)
	}
	if b.Base, err = b.compile(own, policy.UserSettings{}); err != nil {
		return nil, err
	}
	b.byName[own.Name], b.Keep = b.Base, b.Base.Keep
	for _, p := range others {
		if b.byName[p.Name] != nil {
			continue // the own one comes first
		}
		rules, err := b.compile(p, policy.UserSettings{})
		if err != nil {
			return nil, err
		}
		b.byName[p.Name], b.Keep = rules, max(b.Keep, rules.Keep)
	}
	return b, nil
}

func (b *Rulebook) compile(p policy.Policy, s policy.UserSettings) (*Ruleset, error) {
	return newRuleset(p.For(s), p.QuietZone(s), b.Cache.zones)
}

// of returns what a user's messages are judged by, as far as is known: it asks
// nobody.
func (b *Rulebook) Of(user string) UserRules {
	if b.settings {
		if cached, ok := b.Cache.users.Get(user); ok {
			if rules, err := b.rulesOf(cached); err == nil {
				return UserRules{Rules: rules, Version: cached.settings.Version, Blocked: cached.settings.Blocked}
			}
			// These policies are not those that the settings were learned with. The
			// scripts will find that no settings were taken, and learn says the error.
		}
	}
	return UserRules{Rules: b.Base, fixed: !b.settings}
}

// learn takes note of a user's settings as a script has found them. The error is
// an *UnavailableError: the settings can't be read, or name a policy that is not
// known, see ErrUnknownPolicy.
func (b *Rulebook) Learn(user string, values map[string]string) error {
	settings, err := policy.ReadSettings(values)
	if err != nil {
		b.Cache.users.Remove(user)
		return policy.UnreadableSettings(err)
	}
	if settings.Version == "" {
		b.Cache.users.Remove(user)
		return nil
	}
	cached := &cachedSettings{settings: settings}
	if _, err := b.rulesOf(cached); err != nil {
		b.Cache.users.Remove(user)
		return err
	}
	b.Cache.users.Add(user, cached)
	return nil
}

// rulesOf returns what settings come to under these policies.
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
					" apply it with worker policy apply, or name another one with worker user set", s.Policy),
				Err: ErrUnknownPolicy,
			}
		}
	}
	if s.TimeZone != "" || len(s.Limits) > 0 {
		alike := strings.Join([]string{s.Policy, s.TimeZone, policy.JoinRules(s.Limits, " ")}, "\n")
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

// settings is how the scripts are told which settings were taken, see
// lua/fragments/settings.lua.
func (u UserRules) Settings() string {
	switch {
	case u.fixed:
		return "-"
	case u.Blocked:
		return u.Version + " b"
	}
	return u.Version
}
