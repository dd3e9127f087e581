package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The log of a Redis ends within a transaction, whose first write comes back when Redis starts
// for the second time (7.0.15 for instance), unless its log was rewritten before. Redis is asked once.
func TestALogIsRewrittenAfterAStart(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t, "--appendonly", "yes", "--appendfsync", "always")
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
	_, err = client.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error { // which ends the torn one
		pipe.Set(t.Context(), "third", 1, 0)
		pipe.Set(t.Context(), "fourth", 1, 0)
		return nil
	})
	require.NoError(t, err)
	asked, err := store.RewriteLogs(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Eventually(t, func() bool {
		return strings.Contains(client.Info(t.Context(), "persistence").Val(), "aof_last_rewrite_time_sec:0")
	}, 30*time.Second, 10*time.Millisecond)
	asked, err = store.RewriteLogs(t.Context(), client)
	require.NoError(t, err)
	require.Zero(t, asked)
	server.Kill()
	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, int64(2), client.DBSize(t.Context()).Val())
}
