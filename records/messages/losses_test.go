package messages_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// What an eviction took is counted. Messages without a record are no longer pending, and others are in
// the watch list again.
func TestLossesAreFound(t *testing.T) {
	t.Parallel()
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	keys := story.KeysOf(s.Options)
	batches := 0
	find := func() messages.Losses {
		batches = 0
		lost := messages.NewLostPlaces(s.Client, keyspace.KeysUnder(""))
		found, err := lost.FindLosses(t.Context(), s.Watch, func(_ context.Context, batch func() error) error {
			batches++
			return batch()
		}, s.Now)
		require.NoError(t, err)
		return found
	}
	reserve := func(user, id, at string) {
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: id, At: story.At(at), Record: story.RecordOf("g-"+strings.ReplaceAll(user, ":", "-"), "text"), Now: s.Now,
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	for _, user := range []string{"alice", "bob:2"} {
		reserve(user, "record", "11:30")
		reserve(user, "record:2", "14:00")
		reserve(user, "kept", "15:00")
	}
	reserve("carol", "unwatched", "16:00")
	reserve("dave", "unplaced", "16:00")
	reserve("erin", "placed", "16:00")
	reserve("frank", "traceless", "16:00")
	require.True(t, find().None())
	require.LessOrEqual(t, batches, 6+2+2, "one for the lists of each partition, two for all records and two for all places, since each is followed by a rest")

	for _, user := range []string{"alice", "bob:2"} {
		for _, id := range []string{"record", "record:2"} {
			require.True(t, s.Server.Del(keys.Record(user, id)))
		}
	}
	for _, list := range keys.WatchLists(keyspace.Partition("carol")) {
		s.Server.Del(list)
	}
	require.True(t, s.Server.Del(keys.Timeline("dave")))
	for user, id := range map[string]string{"erin": "placed", "frank": "traceless"} {
		require.True(t, s.Server.Del(keys.Record(user, id)))
		for _, list := range keys.WatchLists(keyspace.Partition(user)) {
			s.Server.Del(list)
		}
	}
	require.True(t, s.Server.Del(keys.Timeline("frank")))
	found := find()
	require.ElementsMatch(t, []messages.Message{
		{User: "alice", ID: "record"}, {User: "alice", ID: "record:2"}, {User: "bob:2", ID: "record"}, {User: "bob:2", ID: "record:2"},
	}, found.Some)
	require.ElementsMatch(t, []int{keyspace.Partition("alice"), keyspace.Partition("bob:2")}, found.Partitions)
	found.Some, found.Partitions = nil, nil
	require.Equal(t, messages.Losses{Messages: 5, Users: 2, Unwatched: 1, Unplaced: 1, Freed: 5}, found)
	pending, err := s.Watch.Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, pending)
	require.Equal(t, messages.Losses{Unplaced: 1}, find(), "the rest is told once")
}
