package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// Messages that are moved and cancelled far ahead leave nothing in the queue. What they
// leave in the store does not grow with the number of moves.
func TestMovesAndCancelsLeaveNoTasks(t *testing.T) {
	t.Parallel()
	const users, moves, cancels = 200, 10, 1000
	server := redistest.Real(t)
	client := server.Client()
	seedDefaultPolicy(t, client)
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	begin := time.Now().Add(300 * 24 * time.Hour)
	user := func(u int) string { return fmt.Sprint("user-", u) }
	submitted := func(u int) {
		o, err := submitter.Submit(t.Context(), message.Message{User: user(u), ID: "m", Title: "t", SendAt: begin})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	used := func() int64 {
		memory, err := store.ReadMemory(t.Context(), client)
		require.NoError(t, err)
		return memory[0].Used
	}
	for u := range users {
		submitted(u)
	}
	before := used()
	for m := range moves {
		for u := range users {
			o, err := submitter.Move(t.Context(), user(u), "m", begin.Add(time.Duration(m+1)*time.Minute))
			require.NoError(t, err)
			require.Equal(t, message.Moved, o.Outcome, "%+v", o)
		}
	}
	moved := used()
	for u := range cancels {
		submitted(users + u)
		o, err := submitter.Cancel(t.Context(), user(users+u), "m")
		require.NoError(t, err)
		require.Equal(t, message.Cancelled, o.Outcome)
	}
	require.NoError(t, submitter.Close()) // deletes what is left
	cancelled := used()

	queues, err := asynq.NewInspectorFromRedisClient(client).Queues()
	require.NoError(t, err)
	require.Empty(t, queues, "nothing was ever in the queue")
	t.Logf("%d moves take %d bytes, %d cancelled messages %d bytes each",
		users*moves, moved-before, cancels, (cancelled-moved)/cancels)
	const ofTask = 500 // bytes; a task has about 1,000
	require.Less(t, moved-before, int64(users*moves*ofTask))
}
