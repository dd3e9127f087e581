package judge

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Rules judges messages: it has the policies, and caches the settings of users. Everything that
// judges in a process shares one Rules: a Timeline, a Gate and DeadLetters in the same store.
//
// The store has the users' settings, see settings.Users. A call does not read them first: each
// script compares their version with the one that Rules used, and returns the settings if they
// changed.
//
// It is safe for concurrent use.
type Rules struct {
	fixed    bool // users' settings are ignored
	settings *settingsCache
	current  atomic.Pointer[Rulebook]
	reload   func(ctx context.Context) error
	ahead    keyspace.Ahead                   // see UseClocks
	tell     func(user string, now time.Time) // see TellTimes

	remembers atomic.Int64 // a time.Duration, see Remember
}

// NewRules returns rules with these policies. The first applies to every user whose settings name
// no policy; settings may name any of them. Without arguments it uses the default policy. The error
// is an *InvalidError.
func NewRules(policies ...policy.Policy) (*Rules, error) {
	r := &Rules{settings: newSettingsCache(settingsCacheSize)}
	if err := r.Replace(policies...); err != nil {
		return nil, err
	}
	return r, nil
}

// NewFixed returns rules with these policies that ignore users' settings.
func NewFixed(policies ...policy.Policy) (*Rules, error) {
	r, err := NewRules(policies...)
	if err != nil {
		return nil, err
	}
	r.fixed = true
	return r, nil
}

// Default returns the default policy for every user. It ignores users' settings.
func Default() *Rules {
	r, err := NewFixed(policy.Default())
	if err != nil {
		panic(err) // the default policy is valid
	}
	return r
}

// Replace replaces all policies. It takes effect with the next call; calls that have begun keep
// their policies. Cached settings of users stay, and so do the compiled rules of policies that have
// not changed. The error is an *InvalidError; then nothing has changed.
func (r *Rules) Replace(policies ...policy.Policy) error {
	if len(policies) == 0 {
		policies = []policy.Policy{policy.Default()}
	}
	book, err := newRulebook(r, slices.Clone(policies), r.current.Load())
	if err != nil {
		return err
	}
	r.current.Store(book)
	return nil
}

// Remember makes places count for at least a time, policy.Grace included, even if no policy needs
// it: former windows may have been longer, and return. It takes effect with the next Replace.
func (r *Rules) Remember(keep time.Duration) { r.remembers.Store(int64(keep)) }

// Policies returns the policies. The first is for users whose settings name none.
func (r *Rules) Policies() []policy.Policy { return slices.Clone(r.Book().policies) }

// Of returns the policy that applies to a user, with the user's own limits in it, as last known. It
// does not call the store, so before the first call about a user the result may be wrong.
func (r *Rules) Of(user string) policy.Policy { return r.Book().Of(user).Rules.Policy }

// Zone returns the time zone of a user, as last known: the user's own, else that of the user's
// policy, else UTC. A call with Call.Zone finds out whether it has changed.
func (r *Rules) Zone(user string) *time.Location { return r.Book().Of(user).Rules.quietZone }

// HasOwnZone reports whether a user has a time zone of the user's own, as last known.
func (r *Rules) HasOwnZone(user string) bool {
	if r.fixed {
		return false
	}
	cached, ok := r.settings.users.Get(user)
	return ok && cached.settings.TimeZone != ""
}

// Location returns the time zone with an IANA name. The error is a *fault.InvalidError.
func (r *Rules) Location(name string) (*time.Location, error) { return r.settings.zones.Location(name) }

// With returns new rules in which p replaces the policy with its name, or is added. They share
// nothing with these, which do not change. The error is an *InvalidError.
func (r *Rules) With(p policy.Policy) (*Rules, error) {
	policies := r.Policies()
	i := slices.IndexFunc(policies, func(other policy.Policy) bool { return other.Name == p.Name })
	if i < 0 {
		return NewRules(append(policies, p)...)
	}
	policies[i] = p
	return NewRules(policies...)
}

// ReloadBy sets the function that a call uses once if a user's settings name an unknown policy: the
// store may have newer policies. If reload replaced the policies, the call judges again. Call
// ReloadBy before the rules are used.
func (r *Rules) ReloadBy(reload func(ctx context.Context) error) { r.reload = reload }

// UseClocks sets how far the servers' clocks are ahead of the clock of UseUntil. Call it before the
// rules are used.
func (r *Rules) UseClocks(ahead keyspace.Ahead) { r.ahead = ahead }

// TellTimes sets the function that gets the time of the user's server when a script found the rules
// too old: its clock may have stepped. Call it before the rules are used.
func (r *Rules) TellTimes(tell func(user string, now time.Time)) { r.tell = tell }

// UseUntil sets until when scripts may judge by the present policies, by the store's clock. A
// process that was suspended may not know that they changed: a call after that time reloads them
// first. Without UseUntil, and in frozen rules, they may judge at any time. The function of
// ReloadBy calls it.
func (r *Rules) UseUntil(at time.Time) { r.Book().until.Store(at.UnixMilli()) }

// Frozen returns rules that keep the present policies and share the cache of users' settings.
func (r *Rules) Frozen() *Rules {
	frozen := &Rules{fixed: r.fixed, settings: r.settings}
	b := r.Book()
	frozen.current.Store(&Rulebook{
		owner: frozen, policies: b.policies, Base: b.Base, byName: b.byName, Keep: b.Keep,
		throttles: b.throttles,
	})
	return frozen
}

// Book returns the present policies. An operation of several calls gets them once.
func (r *Rules) Book() *Rulebook { return r.current.Load() }

// MaxAge is the maximum age of rules with a UseUntil time.
const MaxAge = 2 * time.Second

// younger returns the policies after a reload, which may be the same.
func (r *Rules) younger(ctx context.Context) (*Rulebook, error) {
	if r.reload != nil {
		if err := r.reload(ctx); err != nil {
			return nil, err
		}
	}
	return r.Book(), nil
}
