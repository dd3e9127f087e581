package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// These tests only test asynq: behaviour that package queue relies on and asynq does not promise. If
// one fails after an upgrade, check the package for it.

const pinned = "pinned"

// serveAsynq runs a server with a handler until the test ends.
func serveAsynq(t *testing.T, client redis.UniversalClient, handle asynq.HandlerFunc) {
	t.Helper()
	server := asynq.NewServerFromRedisClient(client, asynq.Config{
		Concurrency: 2, Queues: map[string]int{pinned: 1}, LogLevel: asynq.FatalLevel,
		DelayedTaskCheckInterval: 20 * time.Millisecond, TaskCheckInterval: 20 * time.Millisecond,
		ShutdownTimeout: 100 * time.Millisecond,
		IsFailure:       func(error) bool { return false },
		RetryDelayFunc:  func(int, error, *asynq.Task) time.Duration { return 0 },
	})
	require.NoError(t, server.Start(handle))
	t.Cleanup(server.Shutdown)
}

func enqueueAsynq(t *testing.T, client redis.UniversalClient, id string, options ...asynq.Option) {
	t.Helper()
	options = append(options, asynq.TaskID(id), asynq.Queue(pinned), asynq.MaxRetry(1))
	_, err := asynq.NewClientFromRedisClient(client).EnqueueContext(t.Context(), asynq.NewTask("pin", nil), options...)
	require.NoError(t, err)
}

// An error that is no failure uses up no retry: a task with one retry comes again as often as
// it has to, and is not archived.
func TestAsynqCountsNoRetryWithoutAFailure(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	tries := make(chan int, 100)
	done := make(chan struct{})
	count := 0
	serveAsynq(t, client, func(ctx context.Context, _ *asynq.Task) error {
		retried, ok := asynq.GetRetryCount(ctx)
		if !ok || retried != 0 {
			return errors.New("it counts")
		}
		count++
		tries <- count
		if count < 4 {
			return errors.New("again")
		}
		close(done)
		return nil
	})
	enqueueAsynq(t, client, "a")
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		require.Fail(t, "it does not come again", "%d tries", len(tries))
	}
	inspector := asynq.NewInspectorFromRedisClient(client)
	require.Eventually(t, func() bool {
		_, err := inspector.GetTaskInfo(pinned, "a")
		return errors.Is(err, asynq.ErrTaskNotFound)
	}, time.Minute, 10*time.Millisecond, "a task that is done leaves nothing")
	archived, err := inspector.ListArchivedTasks(pinned)
	require.NoError(t, err)
	require.Empty(t, archived)
}

// A task whose lease ran out is orphaned in lists of active tasks. Before that it is not.
func TestAsynqTellsOrphanedTasks(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	begun, end := make(chan struct{}), make(chan struct{})
	serveAsynq(t, client, func(context.Context, *asynq.Task) error {
		close(begun)
		<-end
		return nil
	})
	defer close(end)
	enqueueAsynq(t, client, "a")
	<-begun
	orphaned := func() bool {
		active, err := asynq.NewInspectorFromRedisClient(client).ListActiveTasks(pinned)
		require.NoError(t, err)
		require.Len(t, active, 1)
		return active[0].IsOrphaned
	}
	require.False(t, orphaned())
	past := redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: "a"}
	require.NoError(t, client.ZAdd(t.Context(), "asynq:{"+pinned+"}:lease", past).Err())
	require.True(t, orphaned())
}

// The id of a task is taken as long as the queue has the task, in whatever state, and free
// afterwards. A task that waits for its time can be deleted, one that runs can't.
func TestAsynqKeepsTaskIDsApart(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	inspector := asynq.NewInspectorFromRedisClient(client)
	again := func() error {
		_, err := asynq.NewClientFromRedisClient(client).EnqueueContext(t.Context(), asynq.NewTask("pin", nil),
			asynq.TaskID("a"), asynq.Queue(pinned), asynq.ProcessIn(time.Hour))
		return err
	}
	require.ErrorIs(t, inspector.DeleteTask(pinned, "a"), asynq.ErrQueueNotFound)
	enqueueAsynq(t, client, "a", asynq.ProcessIn(time.Hour))
	require.ErrorIs(t, again(), asynq.ErrTaskIDConflict)
	require.NoError(t, inspector.DeleteTask(pinned, "a"))
	require.ErrorIs(t, inspector.DeleteTask(pinned, "a"), asynq.ErrTaskNotFound)
	require.NoError(t, again())
}
