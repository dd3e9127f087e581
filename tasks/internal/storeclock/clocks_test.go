package storeclock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Each master has its clock. One that is more than a minute ahead of the main one has stepped.
func TestClocksOfMasters(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ahead, want []time.Duration
		stepped     bool
	}{
		{[]time.Duration{0, 50 * time.Second, -5 * time.Second}, []time.Duration{0, 50 * time.Second, -5 * time.Second}, false},
		{[]time.Duration{0, time.Hour, -time.Hour}, []time.Duration{0, 0, -time.Hour}, true},
	} {
		cluster, ok := redistest.Apart(t, func() time.Duration { return 0 }, row.ahead...).Client(nil).(*redis.ClusterClient)
		require.True(t, ok)
		t.Cleanup(func() { require.NoError(t, cluster.Close()) })
		clocks := storeclock.NewClocks(cluster, "{"+keyspace.Tag(partitionOn(t, cluster, "master-0:6379"))+"}")
		now, err := clocks.Ask(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), now, time.Second)
		for i, address := range []string{"master-0:6379", "master-1:6379", "master-2:6379"} {
			partition := partitionOn(t, cluster, address)
			require.InDelta(t, row.want[i], clocks.Ahead(partition), float64(time.Second))
			require.Same(t, clocks.OfPartition(partition), clocks.Of(t.Context(), "{"+keyspace.Tag(partition)+"}"))
		}
		require.Equal(t, row.stepped, clocks.Stepped() != (storeclock.Step{}))
	}
}

// partitionOn returns a partition that a master has.
func partitionOn(t *testing.T, cluster *redis.ClusterClient, address string) int {
	t.Helper()
	for partition := range keyspace.Partitions {
		master, err := cluster.MasterForKey(t.Context(), "{"+keyspace.Tag(partition)+"}")
		require.NoError(t, err)
		if master.Options().Addr == address {
			return partition
		}
	}
	require.Fail(t, "no partition is there")
	return 0
}
