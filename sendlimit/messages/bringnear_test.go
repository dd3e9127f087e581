package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// What is handed over later than in five minutes is not in the near list, and comes there in
// time.
func TestFarEntriesComeNearInTime(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "99/minute")
	keys := story.KeysOf(s.Options)
	near := func() []string {
		members, err := s.Client.ZRange(t.Context(), keys.Near("alice"), 0, -1).Result()
		require.NoError(t, err)
		return members
	}
	now := story.At("11:00")
	s.Until("11:00")
	last := now.Add(5*time.Minute + sendlimit.DefaultHorizon)
	for i, at := range []time.Time{last, last.Add(time.Millisecond), last.Add(time.Hour)} {
		id := fmt.Sprint("m", i)
		require.True(t, s.Ask(sendlimit.Request{ID: id, At: at, Record: story.RecordOf("g"+id, "text")}).Allowed)
	}
	require.Equal(t, []string{"gm0/m0/alice"}, near())
	moved, err := s.Watch.BringNear(t.Context(), now)
	require.NoError(t, err)
	require.Zero(t, moved)
	for range 2 {
		due, _, err := s.Watch.Due(t.Context(), last.Add(2*time.Hour), 10)
		require.NoError(t, err)
		require.Len(t, due, 1)
	}
	moved, err = s.Watch.BringNear(t.Context(), now.Add(time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	require.Equal(t, []string{"gm0/m0/alice", "gm1/m1/alice"}, near())
	s.Watched("gm0/m0 11:05:00", "gm1/m1 11:05:00.001", "gm2/m2 12:05:00")
	pending, err := s.Watch.Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, pending)

	// An entry that is brought near a second time keeps what it got there.
	s.Until("11:05")
	_, err = s.Watch.HandOver(t.Context(), []messages.Watched{{User: "alice", ID: "m0", Generation: "gm0"}}, time.Time{})
	require.NoError(t, err)
	_, err = s.Server.ZAdd(keys.Far("alice", "m0"), float64(story.At("11:05").UnixMilli()), "gm0/m0/alice")
	require.NoError(t, err)
	_, err = s.Watch.BringNear(t.Context(), story.At("11:05"))
	require.NoError(t, err)
	s.Watched("gm1/m1 11:05:00.001", "gm0/m0 11:05:10", "gm2/m2 12:05:00")
}

// A change removes the entry of the former generation, wherever it is.
func TestAFarMessageIsChanged(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "99/minute")
	s.Until("11:00")
	s.Submit("a", "13:00", "g1", "text")
	require.True(t, s.MoveTo("a", "14:00", "g2").Allowed)
	s.Watched("g2/a 13:58:00")
	require.True(t, s.MoveTo("a", "11:01", "g3").Allowed)
	s.Watched("g3/a 11:00:10")
	require.True(t, s.MoveTo("a", "15:00", "g4").Allowed)
	s.Watched("g4/a 14:58:00")
	require.True(t, s.Release("a").Allowed)
	s.Watched()
}

// Far entries are moved in parts, from all lists of all partitions.
func TestManyFarEntriesComeNear(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	keys := story.KeysOf(s.Options)
	const each = 777 // more than one call moves
	want := 0
	for _, user := range []string{"alice", "bob"} {
		for list := range keyspace.FarLists {
			for n := range each / keyspace.FarLists {
				member := keyspace.WatchMember(user, fmt.Sprintf("m%d-%d", list, n), "g")
				_, err := s.Server.ZAdd(keys.FarOf(keyspace.Partition(user), list), float64(n), member)
				require.NoError(t, err)
				want++
			}
		}
	}
	moved, err := s.Watch.BringNear(t.Context(), time.UnixMilli(1000))
	require.NoError(t, err)
	require.Equal(t, want, moved)
	for _, user := range []string{"alice", "bob"} {
		for list := range keyspace.FarLists {
			require.False(t, s.Server.Exists(keys.FarOf(keyspace.Partition(user), list)))
		}
	}
	pending, err := s.Watch.Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, pending)
}

// One of several callers looks at the far lists, once a minute.
func TestTheTurnToBringNear(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	s.Until("11:00")
	for _, at := range []struct {
		time string
		mine bool
	}{{"11:00", true}, {"11:00", false}, {"11:00:59.999", false}, {"11:01", true}, {"11:01:30", false}} {
		s.Until(at.time)
		mine, err := s.Watch.FarTurn(t.Context())
		require.NoError(t, err)
		require.Equal(t, at.mine, mine, at.time)
	}
}
