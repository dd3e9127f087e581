package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Throttle returns the throttle of a user's messages of a category, as last known, without a call
// of the store; zero for none.
func (r *Rules) Throttle(user, category string) policy.NamedThrottle {
	b := r.Book()
	if category == "" || !b.throttles {
		return policy.NamedThrottle{}
	}
	return b.Of(user).Rules.Scope(category).Throttle
}

// Covers reports whether messages of the scope may be accepted with a charge of held, zero for
// none.
func (c *Scope) Covers(held policy.NamedThrottle) bool {
	return c.Throttle.IsZero() || c.Throttle == held
}

// Throttled returns the categories with a throttle other than held, zero for none, as
// lua/place/move.lua reads them.
func (s *Ruleset) Throttled(held policy.NamedThrottle) any {
	if held.IsZero() {
		return s.throttled
	}
	return s.throttledBut(held)
}

func (s *Ruleset) throttledBut(held policy.NamedThrottle) string {
	var words strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Policy.Categories)) {
		if t := s.Policy.ThrottleOf(name); !t.IsZero() && t != held {
			words.WriteString(" " + name + " ")
		}
	}
	return words.String()
}
