package sendlimit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A timeline and its gate take turns with a user whose rules are made once.
func TestATimelineAndItsGateKnowUsersTogether(t *testing.T) {
	t.Parallel()
	timeline, err := NewTimeline(nil, Options{UserSettings: true, Attempts: 3})
	require.NoError(t, err)
	gate := timeline.Gate()
	require.NoError(t, timeline.book.learn("alice", map[string]string{"limits": "2/minute", "v": "v1"}))
	rules := timeline.book.of("alice").rules
	require.Same(t, rules, gate.book.of("alice").rules)
	require.Same(t, rules, timeline.book.of("alice").rules)
	require.Equal(t, 3, gate.fixed.Attempts)
	require.Equal(t, DefaultTolerance, gate.fixed.Tolerance)
}
