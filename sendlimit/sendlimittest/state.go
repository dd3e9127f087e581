package sendlimittest

import (
	"maps"
	"slices"
)

// Clone returns an independent copy of the Model.
func (m *Model) Clone() *Model {
	clone := *m
	clone.users, clone.settings, clone.own = maps.Clone(m.users), maps.Clone(m.settings), maps.Clone(m.own)
	return &clone
}

// Equal reports whether two Models with the same rules are in the same state.
func (m *Model) Equal(other *Model) bool {
	return maps.EqualFunc(m.users, other.users, func(a, b timeline) bool { return slices.Equal(a, b) })
}
