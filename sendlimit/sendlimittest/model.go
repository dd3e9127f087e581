package sendlimittest

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// Model answers what a sendlimit.Timeline without records must answer, field
// by field: the same methods and requests, without a store.
//
// A request's Now is its only clock and has to be set; a user's requests come
// in its order. Requests are taken to be valid: a Model has no errors to
// return, and does not look at Record and Generation.
//
// A Model is not safe for concurrent use. Users have nothing to do with each
// other, so that many can be judged side by side by a Model each.
type Model struct {
	rules rules
	reach int64 // ms
	// remembered is for how long after its time a reservation is known.
	remembered int64 // ms
	users      map[string]timeline
}

// NewModel returns a Model of a policy, in which no send time lies further
// than reach ahead. The error is or wraps a
// *sendlimit.InvalidError.
func NewModel(policy sendlimit.Policy, reach time.Duration) (*Model, error) {
	if err := policy.Validate(); err != nil {
		return nil, fmt.Errorf("model of a policy: %w", err)
	}
	if reach <= 0 {
		return nil, &sendlimit.InvalidError{Field: "reach", Value: reach.String(), Want: "a positive length of time"}
	}
	zone, err := time.LoadLocation(policy.TimeZone)
	if err != nil {
		return nil, &sendlimit.InvalidError{Field: "time_zone", Value: policy.TimeZone, Want: "an IANA time zone"}
	}
	m := &Model{
		reach:      reach.Milliseconds(),
		remembered: (policy.LargestWindow() + sendlimit.Grace).Milliseconds(),
		users:      make(map[string]timeline),
	}
	for _, r := range policy.Rules {
		m.rules = append(m.rules, rule{Rule: r, zone: zone})
	}
	return m, nil
}

// remember drops what is forgotten at now of a user's timeline, and returns
// the rest.
func (m *Model) remember(user string, now int64) timeline {
	tl := m.users[user].since(now - m.remembered)
	m.users[user] = tl
	return tl
}
