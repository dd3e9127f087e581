package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// seeded returns a client of a store that has the default policy.
func seeded(t *testing.T) *redis.Client {
	t.Helper()
	_, client := sendlimittest.EmbeddedRedis(t)
	policies, err := sendlimit.NewPolicyStore(client, "")
	require.NoError(t, err)
	_, err = policies.Seed(t.Context(), sendlimit.DefaultPolicy())
	require.NoError(t, err)
	return client
}

func submitter(t *testing.T, client redis.UniversalClient) *tasks.Submitter {
	t.Helper()
	s, err := tasks.NewSubmitter(client, tasks.SubmitterOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A message is accepted, waits in the queue, and is delivered at its time, not
// a millisecond before.
func TestAMessageIsDeliveredAtItsTime(t *testing.T) {
	t.Parallel()
	client := seeded(t)
	s := submitter(t, client)
	recorder := notifiertest.NewRecorder(time.Now)
	w, err := tasks.NewWorker(client, tasks.WorkerOptions{Notifier: recorder})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()

	at := time.Now().Add(1700 * time.Millisecond).UTC().Truncate(time.Millisecond)
	o, err := s.Submit(t.Context(), tasks.Message{User: "alice", SendAt: at, Title: "hi", Body: "there"})
	require.NoError(t, err)
	require.Equal(t, tasks.Accepted, o.Outcome, o)
	require.Equal(t, at, o.SendAt.Time)
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	deliveries, err := recorder.Wait(within, 1)
	require.NoError(t, err)
	got := deliveries[0]
	require.False(t, got.At.Before(at), "early by %s", at.Sub(got.At))
	require.Equal(t, "hi", got.Notification.Title)
	stop()
	require.NoError(t, <-ended)
}
