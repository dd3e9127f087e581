package store_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// watched returns a client of a cluster that watches its nodes, and a key of each master.
func watched(t *testing.T, cluster *redistest.Cluster) (client *redis.ClusterClient, keys []string) {
	t.Helper()
	client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(), ContextTimeoutEnabled: true, DialerRetries: 1,
	})
	store.WatchNodes(client)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	keys = make([]string, len(cluster.Nodes))
	for i, missing := 0, len(keys); missing > 0; i++ {
		key := fmt.Sprintf("key-%d", i)
		master, err := client.MasterForKey(t.Context(), key)
		require.NoError(t, err)
		for n, node := range cluster.Nodes {
			if keys[n] == "" && node.Addr == master.Options().Addr {
				keys[n] = key
				missing--
			}
		}
	}
	return client, keys
}

// A master that is away fails its own commands, at once, and nobody else's: not even those
// of a pipeline that it shares with others.
func TestANodeThatIsAwayHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		why        string
		goes, back func(*redistest.Server) error
	}{
		{
			"it is killed",
			func(s *redistest.Server) error { s.Kill(); return nil },
			func(s *redistest.Server) error { return s.Restart(t.Context()) },
		},
		{
			"it hangs",
			func(s *redistest.Server) error { return syscall.Kill(s.PID(), syscall.SIGSTOP) },
			func(s *redistest.Server) error { return syscall.Kill(s.PID(), syscall.SIGCONT) },
		},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.RealCluster(t, "--cluster-require-full-coverage", "no", "--appendonly", "yes")
			client, keys := watched(t, cluster)
			for _, key := range keys {
				require.NoError(t, client.Set(t.Context(), key, "there", 0).Err())
			}
			require.NoError(t, row.goes(cluster.Nodes[1]))
			err := client.Incr(t.Context(), keys[1]+"-{"+keys[1]+"}").Err()
			require.Error(t, err)
			require.False(t, store.NotSent(err), "it may have arrived: %v", err)
			require.Eventually(t, func() bool { return store.NotSent(client.Get(t.Context(), keys[1]).Err()) },
				10*time.Second, time.Millisecond)

			for range 20 {
				var got [3]*redis.StringCmd
				_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
					for i, key := range keys {
						got[i] = pipe.Get(t.Context(), key)
					}
					return nil
				})
				require.True(t, store.NotSent(err), "%v", err)
				require.ErrorContains(t, store.Explain(err, "reading"), "Redis at "+cluster.Nodes[1].Addr+", a node of the cluster, does not answer")
				require.True(t, store.NotSent(got[1].Err()))
				require.Equal(t, "there", got[0].Val())
				require.Equal(t, "there", got[2].Val())
				require.NoError(t, client.Time(t.Context()).Err(), "any node knows it")
			}

			require.NoError(t, row.back(cluster.Nodes[1]))
			require.Eventually(t, func() bool { return client.Get(t.Context(), keys[1]).Val() == "there" },
				20*time.Second, 10*time.Millisecond)
		})
	}
}

// A command that takes long, and a caller that gives up, say nothing about a node that
// answers.
func TestASlowCommandIsNoNodeThatIsAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.RealCluster(t)
	client, keys := watched(t, cluster)
	require.ErrorIs(t, client.BLPop(t.Context(), 2*time.Second, keys[0]).Err(), redis.Nil)
	for range 20 {
		require.NoError(t, client.Set(t.Context(), keys[0], "there", 0).Err())
	}
}
