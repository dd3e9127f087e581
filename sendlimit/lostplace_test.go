package sendlimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The record of a message was lost, and its place refused the same id for ever. Others can't
// take such a place, since it may be of a message whose dead letter was purged.
func TestAPlaceWithoutARecordIsOfItsID(t *testing.T) {
	t.Parallel()
	lost := func(t *testing.T) *story.Messages {
		t.Helper()
		s := story.NewMessages(t, "1/hour")
		s.Submit("a", "11:00", "g-1", "text")
		s.Server.Del(story.KeysOf(s.Options).Record("alice", "a"))
		return s
	}
	reserve := func(s *story.Messages, id, at string) sendlimit.Decision {
		r := sendlimit.Request{User: "alice", ID: id, At: story.At(at), Record: story.RecordOf("g-"+id, "text"), Now: s.Now}
		checked, err := s.Timeline.Check(t.Context(), r)
		require.NoError(t, err)
		d, err := s.Timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, d.Allowed, checked.Allowed)
		return d
	}
	t.Run("submit", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		require.Equal(t, fault.CodeSendLimit, reserve(s, "b", "11:30").Code)
		require.True(t, reserve(s, "a", "11:20").Allowed)
		require.True(t, reserve(s, "b", "10:20").Allowed, "its place is not at its former time any more")
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		d, err := s.Timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a", Now: s.Now})
		require.NoError(t, err)
		require.Equal(t, fault.CodeNotFound, d.Code)
		require.True(t, reserve(s, "b", "11:30").Allowed)
	})
	t.Run("past", func(t *testing.T) {
		t.Parallel()
		s := lost(t)
		s.Until("11:01")
		require.Equal(t, fault.CodeSendLimit, reserve(s, "a", "11:20").Code, "it may have been sent")
	})
}
