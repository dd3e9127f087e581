package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Pitfall 36: the reply to a submit is lost, however often the client repeats it. The
// caller learns that the message may have been accepted, submits again, and learns that
// it was accepted once.
func TestPitfall36SubmitWithoutAReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	way := newLink(t, server.Options().Addr)
	d := newDelivery(t, way.options(server))
	d.work(d.client())
	m := message.Message{ID: "m", User: "alice", SendAt: time.Now().Add(time.Minute), Title: "a"}
	warm := m
	warm.User = "bob"
	_, err := d.Submit(t.Context(), warm) // loads the rules and the scripts
	require.NoError(t, err)

	way.set("", "u:alice")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = d.Submit(ctx, m)
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Contains(t, away.Detail, "asking again with the same id is safe")

	way.set("", "")
	o, err := d.Submit(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, message.Accepted, o.Outcome)
	require.True(t, o.Replayed)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	places, err := server.Client().ZCard(t.Context(), keys.Timeline("alice")).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, places)
	// Nobody enqueued it, but it is on the watch list.
	generation, err := server.Client().HGet(t.Context(), keys.Record("alice", "m"), "g").Result()
	require.NoError(t, err)
	score, err := server.Client().ZScore(t.Context(), keys.Near("alice"), keyspace.WatchMember("alice", "m", generation)).Result()
	require.NoError(t, err)
	require.Less(t, time.Until(time.UnixMilli(int64(score))), 10*time.Second)
}

// The connection breaks after the store has executed the call. The client library
// repeats it, and the caller notices nothing.
func TestSubmitWhoseConnectionBreaks(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	way := newLink(t, server.Options().Addr)
	d := newDelivery(t, way.options(server))
	d.work(d.client())
	way.set("", "u:alice")
	go func() {
		<-way.deafened
		way.set("", "")
		way.cut()
	}()
	at := time.Now().Add(2 * time.Second).UTC().Truncate(time.Millisecond)
	o, err := d.Submit(t.Context(), message.Message{ID: "m", User: "alice", SendAt: at, Title: "a"})
	require.NoError(t, err)
	require.Equal(t, message.Accepted, o.Outcome)
	require.False(t, o.Replayed, "it is the same call")
	d.due["alice"] = at
	d.arrived()
	d.settled(server.Client())
}

// Only the queue hangs, not the rest of the store: the caller waits at most a quarter
// of a second for it.
func TestSubmitWhileTheQueueHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	way := newLink(t, server.Options().Addr)
	d := newDelivery(t, way.options(server))
	submit := func(id string) time.Duration {
		began := time.Now()
		o, err := d.Submit(t.Context(), message.Message{ID: id, User: id, SendAt: began.Add(time.Minute), Title: "a"})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
		return time.Since(began)
	}
	submit("warm")
	way.set("asynq:{sl:push}", "")
	took := submit("a")
	require.GreaterOrEqual(t, took, 240*time.Millisecond)
	require.Less(t, took, 2*time.Second)
	way.set("", "")
	submit("b")
	info, err := asynq.NewInspectorFromRedisClient(server.Client()).GetQueueInfo(queue.Name(""))
	require.NoError(t, err)
	require.Equal(t, 2, info.Scheduled)
}
