package sendlimittest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Model is a plain model of sendlimit.Timeline. It has the same methods and
// requests, and its decisions must be equal field by field. It has no store.
//
// Now must be set in every request, and must not go back for a user. Requests must
// be valid. A Model ignores records except for their category, and it forgets an
// id together with its place: with records, the caller has to know which ids are
// in use.
//
// A Model is not safe for concurrent use. Users are independent, so several Models
// can judge different users in parallel.
type Model struct {
	reach    time.Duration
	policies []policy.Policy // the first applies to users without a policy of their own
	settings map[string]policy.UserSettings
	common   *regime
	own      map[string]*regime // of users with settings
	// remembered is the time after which a past reservation is forgotten.
	remembered int64 // ms
	users      map[string]timeline
	// places is how many places a user may have in a day of UTC; 0 for any number.
	places int
}

// BoundPlaces sets sendlimit.Options.PlacesPerDay. Without it there is no bound.
func (m *Model) BoundPlaces(perDay int) error {
	m.places = perDay
	return m.Follow(m.policies...)
}

// NewModel returns a Model that judges by a policy and refuses send times beyond
// reach. The error is or wraps a *fault.InvalidError.
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

// Follow changes the policies. The first one applies to users without a policy of
// their own. Reservations stay, and count as long as any of these policies or of those before
// needs. Errors are those of NewModel.
func (m *Model) Follow(policies ...policy.Policy) error {
	var longest time.Duration
	for _, p := range policies {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("model of a policy: %w", err)
		}
		longest = max(longest, p.LargestWindow())
	}
	m.policies, m.remembered = policies, max(m.remembered, (longest+policy.Grace).Milliseconds())
	var err error
	if m.common, err = newRegime(policies[0], policy.UserSettings{}, m.reach, m.places); err != nil {
		return err
	}
	for user, own := range m.settings {
		if err := m.Set(user, own); err != nil {
			return err
		}
	}
	return nil
}

// Set changes a user's settings. The error is about an unknown time zone.
func (m *Model) Set(user string, settings policy.UserSettings) error {
	policy := m.policies[0]
	for _, p := range m.policies {
		if p.Name == settings.Policy {
			policy = p
		}
	}
	own, err := newRegime(policy, settings, m.reach, m.places)
	if err != nil {
		return err
	}
	m.settings[user], m.own[user] = settings, own
	return nil
}

// regime returns a user's regime.
func (m *Model) regime(user string) *regime {
	if own := m.own[user]; own != nil {
		return own
	}
	return m.common
}

// remember removes the forgotten entries from a user's timeline and returns it.
func (m *Model) remember(user string, now int64) timeline {
	tl := m.users[user].since(now - m.remembered)
	m.users[user] = tl
	return tl
}
