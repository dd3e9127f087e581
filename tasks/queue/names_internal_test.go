package queue

import (
	"maps"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Each share of the slots has one queue, for any number of queues and any prefix. Names are
// pinned: another name would be another queue.
func TestNamesLieInEvenShares(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "orders", "a-long-prefix_with-32-characters"} {
		for n := 1; n <= MaxQueues; n++ {
			for i, name := range Names(prefix, n) {
				require.Equal(t, i, share(slot(name), n), "%s of %d", name, n)
				require.True(t, ours(Name(prefix), name), name)
				if name != Name(prefix) {
					require.True(t, inMiddle(slot(name), i, n), "%s of %d", name, n)
				}
			}
			require.Contains(t, Names(prefix, n), Name(prefix), "the queue of former versions")
		}
	}
	require.Equal(t, []string{"sl:push"}, Names("", 1))
	require.Equal(t, []string{"sl:push", "sl:push:2", "sl:push:41"}, Names("", 3))
}

func TestQueuesOfAnotherPrefixAreNotOurs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sl:push", "sl:push:1", "sl:push:64"} {
		require.True(t, ours("sl:push", name), name)
	}
	for _, name := range []string{"", "sl", "sl:push:", "sl:push:0", "sl:push:01", "sl:push:-1", "sl:push:+1", "sl:push:1:push", "sl2:push", "sl:pushed"} {
		require.False(t, ours("sl:push", name), name)
	}
}

// The partitions, and so the users, are spread evenly, and each has the queue of its share.
func TestPartitionsAreSpreadEvenly(t *testing.T) {
	t.Parallel()
	for n := 1; n <= MaxQueues; n++ {
		s, count := newShares("", n), make(map[string]int)
		for p := range keyspace.Partitions {
			count[s.queueOf(p)]++
			if n > 1 {
				require.Equal(t, share(slot(keyspace.Tag(p)), n), share(slot(s.queueOf(p)), n))
			}
		}
		require.Len(t, count, n)
		busiest := float64(slices.Max(slices.Collect(maps.Values(count)))*n) / keyspace.Partitions
		if n <= 10 {
			require.Less(t, busiest, 1.1, n)
		} else {
			require.Less(t, busiest, 1.5, n)
		}
	}
}

// Slots are those of Redis, and each master of a cluster has one of as many queues.
func TestSlotsAreThoseOfRedis(t *testing.T) {
	t.Parallel()
	cluster := redistest.RealCluster(t)
	client := cluster.Client()
	for _, tag := range append(Names("", MaxQueues), "", "p0000", "p1023", "123456789") {
		want, err := client.ClusterKeySlot(t.Context(), tag).Result()
		require.NoError(t, err)
		require.EqualValues(t, want, slot(tag), tag)
	}
	spread, err := newSpread(client, "", 0)
	require.NoError(t, err)
	shares, err := spread.shares(t.Context())
	require.NoError(t, err)
	require.Len(t, shares.names, len(cluster.Nodes))
	masters := make(map[string]bool)
	masterOf := func(key string) string {
		master, err := client.MasterForKey(t.Context(), key)
		require.NoError(t, err)
		return master.Options().Addr
	}
	keys := keyspace.KeysUnder("sl")
	for _, name := range shares.names {
		masters[masterOf(key(name, "pending"))] = true
	}
	require.Len(t, masters, len(cluster.Nodes))
	for p := range keyspace.Partitions {
		require.Equal(t, masterOf(keys.NearOf(p)), masterOf(key(shares.queueOf(p), "pending")), p)
	}
}

// One server has one queue, unless a number is set.
func TestNumbersOfQueues(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "192.0.2.1:6379"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for n, want := range map[int]int{0: 1, 1: 1, 7: 7, 64: 64} {
		spread, err := newSpread(client, "", n)
		require.NoError(t, err)
		shares, err := spread.shares(t.Context())
		require.NoError(t, err)
		require.Len(t, shares.names, want)
	}
	for _, n := range []int{-1, 65} {
		_, err := newSpread(client, "", n)
		require.ErrorContains(t, err, "use 0 to 64", n)
	}
}
