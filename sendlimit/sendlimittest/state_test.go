package sendlimittest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCloneGoesOnByItself(t *testing.T) {
	t.Parallel()
	s := newModelStory(t, "1/minute")
	s.accepted("11:11:11")
	clone := s.model.Clone()
	require.True(t, s.model.Equal(clone))
	s.accepted("12:00:00")
	require.False(t, s.model.Equal(clone))
	require.True(t, clone.Reserve(s.request("a", "12:00:30")).Allowed, "12:00:00 is not taken in the clone")
	s.release("12:00:00")
	s.model.Reserve(s.request("a", "12:00:30"))
	require.True(t, s.model.Equal(clone))
}
