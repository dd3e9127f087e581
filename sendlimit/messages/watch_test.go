package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Entries of another program may stand at the head of a watch list, more than one look
// reads. They stay, they are counted, and what is behind them is found.
func TestUnreadableEntriesHideNothing(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	watch, err := messages.NewWatchList(client, sendlimit.Options{})
	require.NoError(t, err)
	keys, err := keyspace.NewKeys(keyspace.DefaultPrefix)
	require.NoError(t, err)
	at := story.At("11:00")
	add := func(count int, member func(int) string) {
		for k := range count {
			require.NoError(t, client.ZAdd(t.Context(), keys.Near("alice"),
				redis.Z{Score: float64(at.UnixMilli()), Member: member(k)}).Err())
			at = at.Add(time.Millisecond)
		}
	}
	const strange = 2345
	add(strange, func(k int) string { return fmt.Sprintf("v9:%06d", k) })
	add(3, func(k int) string { return keyspace.WatchMember("alice", fmt.Sprint("m", k), "g") })
	for _, perPartition := range []int{1, 2, 100} {
		due, unreadable, err := watch.Due(t.Context(), at, perPartition)
		require.NoError(t, err)
		require.Equal(t, strange, unreadable)
		require.Len(t, due, min(perPartition, 3))
		for k, entry := range due {
			require.Equal(t, fmt.Sprint("m", k), entry.ID)
		}
	}
	require.EqualValues(t, strange+3, client.ZCard(t.Context(), keys.Near("alice")).Val())
}
