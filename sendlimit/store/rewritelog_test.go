package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The log of a Redis ends within a transaction, whose first write comes back when Redis starts
// for the second time (7.0.15 for instance), unless its log was rewritten before. Redis is asked
// once, and starts again also if it is killed while it rewrites.
func TestALogIsRewrittenAfterAStart(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, killed := range []bool{false, true} {
		server := redistest.Real(t, redistest.Durable()...)
		client := server.Client()
		_, err := client.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Set(t.Context(), "first", 1, 0)
			pipe.Set(t.Context(), "second", 1, 0)
			return nil
		})
		require.NoError(t, err)
		server.Kill()
		logs, err := filepath.Glob(filepath.Join(server.Folder(), "appendonlydir", "*.incr.aof"))
		require.NoError(t, err)
		require.Len(t, logs, 1)
		written, err := os.ReadFile(logs[0])
		require.NoError(t, err)
		require.NoError(t, os.Truncate(logs[0], int64(strings.Index(string(written), "second"))))
		require.NoError(t, server.Restart(t.Context()))
		require.Zero(t, client.DBSize(t.Context()).Val())
		require.NoError(t, client.Set(t.Context(), "third", 1, 0).Err())
		if killed { // a second for each key
			require.NoError(t, client.ConfigSet(t.Context(), "rdb-key-save-delay", "1000000").Err())
		}
		ask := func() int {
			asked, err := store.RewriteLogs(t.Context(), client, keyspace.KeysUnder(""))
			require.NoError(t, err)
			return asked
		}
		require.Equal(t, 1, ask())
		if !killed {
			require.Eventually(t, func() bool {
				told := client.Info(t.Context(), "persistence").Val()
				return strings.Contains(told, "aof_rewrite_in_progress:0") && !strings.Contains(told, "aof_last_rewrite_time_sec:-1")
			}, time.Minute, 10*time.Millisecond)
		}
		require.Zero(t, ask())
		require.NoError(t, server.Restart(t.Context()))
		require.Equal(t, "1", client.Get(t.Context(), "third").Val())
		require.True(t, killed || client.DBSize(t.Context()).Val() == 1)
	}
}
