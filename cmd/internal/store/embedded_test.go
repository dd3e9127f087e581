package store_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

func startEmbedded(t *testing.T) *redis.Client {
	t.Helper()
	embedded := store.StartEmbedded(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		require.NoError(t, store.Close(embedded.Client))
		embedded.Close()
	})
	return embedded.Client
}

func TestEmbeddedStoreServes(t *testing.T) {
	t.Parallel()
	client := startEmbedded(t)
	report, err := store.Inspect(t.Context(), client)
	require.NoError(t, err)
	require.Empty(t, report.Warnings)
	require.NoError(t, report.RefuseEviction())

	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	require.ErrorIs(t, startEmbedded(t).Get(t.Context(), "k").Err(), redis.Nil, "another one is apart")
}

func TestEmbeddedStoreExpiresKeysByTheClock(t *testing.T) {
	t.Parallel()
	client := startEmbedded(t)
	begun := time.Now()
	require.NoError(t, client.Set(t.Context(), "short", "v", time.Second).Err())
	require.NoError(t, client.Set(t.Context(), "long", "v", time.Minute).Err())
	require.Eventually(t, func() bool {
		return errors.Is(client.Get(t.Context(), "short").Err(), redis.Nil)
	}, time.Minute, 10*time.Millisecond)
	require.InDelta(t, 1, time.Since(begun).Seconds(), 0.6)
	left, err := client.PTTL(t.Context(), "long").Result()
	require.NoError(t, err)
	require.InDelta(t, (time.Minute - time.Since(begun)).Seconds(), left.Seconds(), 0.6)
}

// A pipeline may be longer than what a pipe holds: client and store both write while the other
// does.
func TestLongPipelinesOfTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	client := startEmbedded(t)
	const commands = 20_000
	cmds, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for range commands {
			pipe.Incr(t.Context(), "n")
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, cmds, commands)
	require.EqualValues(t, commands, cmds[commands-1].(*redis.IntCmd).Val()) //nolint:forcetypeassert // the reply of INCR
}
