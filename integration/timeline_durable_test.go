package integration_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// account is a store with some messages in every state, and all queries about it.
type account struct {
	client *redis.Client
	now    time.Time
	users  int
}

// fill makes messages of more users, in every state.
func (a *account) fill(t *testing.T, users int) {
	t.Helper()
	ctx := t.Context()
	timeline := newTimeline(t, a.client, sendlimit.Options{Records: true})
	gate, err := messages.NewGate(a.client, sendlimit.Options{Records: true})
	require.NoError(t, err)
	watch, err := messages.NewWatchList(a.client, sendlimit.Options{})
	require.NoError(t, err)
	var queued []sendlimit.Timer
	for range users {
		user := fmt.Sprintf("user:%d", a.users)
		a.users++
		reserve := func(id string, after time.Duration, shift bool) {
			t.Helper()
			d := mustReserve(t, timeline, sendlimit.Request{
				User: user, ID: id, At: a.now.Add(after), Shift: shift, Now: a.now,
				Record: &sendlimit.Record{Generation: "g-" + id, Fingerprint: id, Content: []byte("text of " + id)},
			})
			require.True(t, d.Allowed)
			queued = append(queued, sendlimit.Timer{User: user, ID: id, Generation: "g-" + id, Due: d.At})
		}
		reserve("sent", 0, false)
		reserve("shifted", 0, true)
		reserve("moved", 10*time.Minute, false)
		reserve("cancelled", 20*time.Minute, false)
		reserve("pending", 30*time.Minute+time.Millisecond, false)
		d, err := timeline.Move(ctx, sendlimit.MoveRequest{User: user, ID: "moved", At: a.now.Add(2 * time.Hour), Generation: "g2", Now: a.now})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		d, err = timeline.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: "cancelled", Now: a.now})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		delivery := messages.Delivery{User: user, ID: "sent", Generation: "g-sent", Nonce: "n"}
		claim, err := gate.Claim(ctx, delivery, time.Minute, a.now)
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict)
		recorded, err := gate.Settle(ctx, delivery, messages.Settlement{Outcome: messages.Delivered, ProviderID: "p"}, a.now)
		require.NoError(t, err)
		require.True(t, recorded)
		claim, err = gate.Claim(ctx, messages.Delivery{User: user, ID: "shifted", Generation: "g-shifted", Nonce: "n"}, time.Minute, a.now.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict)
	}
	require.NoError(t, watch.Confirm(ctx, queued))
}

// answers returns what a store answers about all users: what it holds, how full it is,
// what it would decide, who is watched, and when which key expires.
func (a *account) answers(t *testing.T, client *redis.Client) string {
	t.Helper()
	ctx := t.Context()
	keys := defaultKeys(t)
	timeline := newTimeline(t, client, sendlimit.Options{Records: true})
	var all strings.Builder
	for n := range a.users {
		user := fmt.Sprintf("user:%d", n)
		list, err := timeline.List(ctx, sendlimit.ListRequest{User: user, Now: a.now})
		require.NoError(t, err)
		require.Len(t, list, 4)
		usage, err := timeline.Usage(ctx, sendlimit.UsageRequest{User: user, At: a.now, From: a.now, To: a.now.Add(time.Hour), Now: a.now})
		require.NoError(t, err)
		free, err := timeline.NextFree(ctx, sendlimit.NextFreeRequest{User: user, Count: 12, Now: a.now})
		require.NoError(t, err)
		fmt.Fprintf(&all, "%s\n%v\n%v\n%v\n", user, list, usage, free)
		for _, id := range []string{"sent", "shifted", "moved", "cancelled", "pending", "unknown"} {
			d, err := timeline.Check(ctx, sendlimit.Request{
				User: user, ID: id, At: a.now, Record: &sendlimit.Record{Fingerprint: id}, Now: a.now,
			})
			require.NoError(t, err)
			fields, err := client.HGetAll(ctx, keys.Record(user, id)).Result()
			require.NoError(t, err)
			expires, err := client.PExpireTime(ctx, keys.Record(user, id)).Result()
			require.NoError(t, err)
			fmt.Fprintf(&all, "%s: %+v\n%v until %d\n", id, d, fields, expires.Milliseconds())
		}
		watched := story.WatchedOf(t, client, keys, user)
		expires, err := client.PExpireTime(ctx, keys.Timeline(user)).Result()
		require.NoError(t, err)
		fmt.Fprintf(&all, "watched: %v, until %d\n", watched, expires.Milliseconds())
	}
	return all.String()
}

// Everything acknowledged is there after the server was killed, from a log that was
// rewritten in the middle.
func TestTheTimelineSurvivesARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	client := server.Client()
	a := &account{client: client, now: noon()}
	a.fill(t, 20)
	require.NoError(t, client.BgRewriteAOF(t.Context()).Err())
	require.Eventually(t, func() bool {
		info := client.Info(t.Context(), "persistence").Val()
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	}, 60*time.Second, 10*time.Millisecond)
	a.fill(t, 20)
	before := a.answers(t, client)

	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, before, a.answers(t, client))
	a.fill(t, 5) // and it continues
}

// A replica has everything: what scripts wrote, and when it expires. It answers
// queries, and every call after it has become the master.
func TestAReplicaAnswersTheSame(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server, replica := redistest.Real(t), redistest.Real(t)
	a := &account{client: server.Client(), now: noon()}
	a.fill(t, 10)
	host, port, found := strings.Cut(server.Addr, ":")
	require.True(t, found)
	require.NoError(t, replica.Client().ReplicaOf(t.Context(), host, port).Err())
	require.Eventually(t, func() bool {
		return strings.Contains(replica.Client().Info(t.Context(), "replication").Val(), "master_link_status:up")
	}, 60*time.Second, 10*time.Millisecond)
	a.fill(t, 10) // through the replication stream, not the first copy
	replicas, err := server.Client().Wait(t.Context(), 1, 10*time.Second).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, replicas)
	before := a.answers(t, server.Client())
	require.Equal(t, before, a.answers(t, replica.Client()))

	timeline := newTimeline(t, replica.Client(), sendlimit.Options{Records: true})
	_, err = timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "user:0", ID: "pending", Now: a.now})
	var unavailable *fault.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.Equal(t, "Redis is a read-only replica: give the address of its master", unavailable.Detail)

	require.NoError(t, replica.Client().ReplicaOf(t.Context(), "NO", "ONE").Err())
	require.Equal(t, before, a.answers(t, replica.Client()))
	a.client = replica.Client()
	a.fill(t, 5)
}
