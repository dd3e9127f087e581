package sendlimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestReserveWritesPlaceRecordAndWatchEntry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	d := s.Ask(sendlimit.Request{ID: "a:b", At: story.At("11:11:11.5"), Record: &sendlimit.Record{
		Generation: "g1", Fingerprint: "print", ExpiresAt: story.At("12:00"), Category: "news", Content: []byte("text\x00\xff"),
	}})
	require.Equal(t, sendlimit.Decision{Allowed: true, At: story.At("11:11:11.5"), Now: s.Now}, d)
	s.Holds("a:b 11:11:11.5")
	fields, err := s.Client.HGetAll(t.Context(), story.KeysOf(s.Options).Record("alice", "a:b")).Result()
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"g": "g1", "f": "print", "t": "1795345871500", "x": "1795348800000", "k": "news", "c": "text\x00\xff",
		"A": strconv.FormatInt(s.Now.UnixMilli(), 10),
	}, fields)
	require.Zero(t, s.KeptFor("a:b"), "a message that has not ended never expires")
	s.Watched("g1/a:b 11:09:11.5")
}

// A late confirm of an older generation changed the watch entry of the newer
// one, which was then checked too late. Or it restored an entry that had ended.
func TestALateConfirmKeepsTheNewerWatchEntry(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	s.MoveTo("a", "15:00", "g2")
	s.Confirm("g1", "11:11:11")
	s.Watched("g2/a 14:58:00")
	s.Release("a")
	s.Confirm("g1", "11:11:11")
	s.Confirm("g2", "15:00")
	s.Watched()
	s.Submit("a", "11:11:11", "g3", "other text")
	s.Confirm("g2", "15:00")
	s.Watched("g3/a 11:09:11")
}

func TestReleaseCancels(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Submit("a", "11:11:11", "g1", "text")
	require.Equal(t, sendlimit.Decision{
		Allowed: true, At: story.At("11:11:11"), Now: s.Now,
		Superseded: sendlimit.Timer{User: "alice", ID: "a", Generation: "g1", Due: story.At("11:11:11")},
	}, s.Release("a"))
	require.Empty(t, s.Field("a", "c"), "the content is erased at once")
	require.Equal(t, sendlimit.DefaultKeepRecords, s.KeptFor("a"))
	s.Holds()
	s.Watched()

	s.Wait(time.Hour)
	require.Equal(t, sendlimit.Decision{Allowed: true, Replayed: true, At: story.At("11:11:11"), Now: s.Now}, s.Release("a"))
	require.Equal(t, sendlimit.DefaultKeepRecords-time.Hour, s.KeptFor("a"), "cancelling twice does not keep it longer")
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.Release("nobody"))
	require.Equal(t, sendlimit.Decision{Code: fault.CodeNotFound, Now: s.Now}, s.MoveTo("a", "12:00", "g2"))

	s.Wait(sendlimit.DefaultKeepRecords)
	require.Negative(t, s.KeptFor("a"))
	require.Equal(t, fault.CodeNotFound, s.Release("a").Code)
}

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
