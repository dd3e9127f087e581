package serve

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// A worker of a former version would misread what this one writes. So the store gets the
// layout of this version only when no such worker runs. Workers under another prefix do no harm.
func TestTheLayoutIsRaisedOnceNoFormerWorkerRuns(t *testing.T) {
	t.Parallel()
	const former, needed redisstore.Layout = 1, 2
	_, client := redistest.Embedded(t)
	require.NoError(t, former.Check(t.Context(), client, keyspace.KeysUnder("")))
	serve := func(prefix string) *queue.Server {
		q, err := queue.New(client, prefix, 1, queue.Polling{})
		require.NoError(t, err)
		server, err := q.Serve(t.Context(), queue.ServerOptions{ShutdownTimeout: time.Second, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			workers, err := queue.Workers(client, prefix)
			return err == nil && len(workers) == 1
		}, time.Minute, 5*time.Millisecond)
		return server
	}
	end := func(server *queue.Server) {
		server.Stop()
		server.Finish(nil)
	}
	worker, other := serve(""), serve("other")
	err := raiseLayout(t.Context(), client, "", needed, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "the store has layout 1, and workers of a former version use it, which can't read layout 2: stop them first")
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.Equal(t, "1", client.HGet(t.Context(), "sl:meta", "layout").Val())

	end(worker)
	for range 2 {
		require.NoError(t, raiseLayout(t.Context(), client, "", needed, slog.New(slog.DiscardHandler)))
		require.Equal(t, "2", client.HGet(t.Context(), "sl:meta", "layout").Val())
	}
	end(other)
}
