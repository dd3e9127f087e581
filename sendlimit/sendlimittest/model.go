package sendlimittest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Model answers what a sendlimit.Timeline must answer, field by field: the same
// methods and requests, without a store.
//
// A request's Now is its only clock and has to be set; a user's requests come
// in its order. Requests are taken to be valid: a Model has no errors to
// return. Of a Record it knows the category alone, and of ids only that a place
// has one: with records, who asks it has to know what became of a message.
//
// A Model is not safe for concurrent use. Users have nothing to do with each
// other, so that many can be judged side by side by a Model each.
type Model struct {
	reach    time.Duration
	policies []policy.Policy // the first is for all users for whom no other is set
	settings map[string]policy.UserSettings
	common   *regime
	own      map[string]*regime // of users for whom something is set
	// remembered is for how long after its time a reservation is known.
	remembered int64 // ms
	users      map[string]timeline
}

// NewModel returns a Model of a policy, in which no send time lies further
// than reach ahead. The error is or wraps a
// *sendlimit.InvalidError.
func NewModel(p policy.Policy, reach time.Duration) (*Model, error) {
	if reach <= 0 {
		return nil, &fault.InvalidError{Field: "reach", Value: reach.String(), Want: "a positive length of time"}
	}
	m := &Model{
		reach: reach, users: make(map[string]timeline),
		settings: make(map[string]policy.UserSettings), own: make(map[string]*regime),
	}
	return m, m.Follow(p)
}

// Follow has the Model judge by policies from now on: by the first, or by the
// one that is set for a user, if it is among them. What is reserved keeps its
// place. The error is as of NewModel.
func (m *Model) Follow(policies ...policy.Policy) error {
	var longest time.Duration
	for _, p := range policies {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("model of a policy: %w", err)
		}
		longest = max(longest, p.LargestWindow())
	}
	m.policies, m.remembered = policies, (longest + policy.Grace).Milliseconds()
	var err error
	if m.common, err = newRegime(policies[0], policy.UserSettings{}, m.reach); err != nil {
		return err
	}
	for user, own := range m.settings {
		if err := m.Set(user, own); err != nil {
			return err
		}
	}
	return nil
}

// Set has the Model judge a user by settings from now on. The error is about a
// time zone that there is not.
func (m *Model) Set(user string, settings policy.UserSettings) error {
	policy := m.policies[0]
	for _, p := range m.policies {
		if p.Name == settings.Policy {
			policy = p
		}
	}
	own, err := newRegime(policy, settings, m.reach)
	if err != nil {
		return err
	}
	m.settings[user], m.own[user] = settings, own
	return nil
}

// regime returns what holds for a user.
func (m *Model) regime(user string) *regime {
	if own := m.own[user]; own != nil {
		return own
	}
	return m.common
}

// remember drops what is forgotten at now of a user's timeline, and returns
// the rest.
func (m *Model) remember(user string, now int64) timeline {
	tl := m.users[user].since(now - m.remembered)
	m.users[user] = tl
	return tl
}
