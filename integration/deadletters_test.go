package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Dead letters of all masters of a cluster are counted, listed in order, retried and
// purged.
func TestDeadLettersOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.SharedCluster(t)
	o := sendlimit.Options{Records: true, Prefix: redistest.Prefix(t)}
	timeline, err := sendlimit.NewTimeline(cluster.Client(), o)
	require.NoError(t, err)
	gate, err := messages.NewGate(cluster.Client(), o)
	require.NoError(t, err)
	dead, err := messages.NewDeadLetters(cluster.Client(), o)
	require.NoError(t, err)

	const users = 100
	began := time.Now().UTC().Truncate(time.Second)
	user := func(i int) string { return fmt.Sprintf("user %d", i) }
	for i := range users {
		r := sendlimit.Request{
			User: user(i), ID: "m", At: began, Now: began,
			Record: &sendlimit.Record{Generation: "g1", Content: []byte("text")},
		}
		d, err := timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		delivery := messages.Delivery{User: r.User, ID: r.ID, Generation: "g1", Nonce: "n"}
		ended := began.Add(time.Duration(i) * time.Millisecond)
		_, err = gate.Claim(t.Context(), delivery, time.Minute, ended)
		require.NoError(t, err)
		settled, err := gate.Settle(t.Context(), delivery, messages.Settlement{Outcome: messages.Failed, Reason: "gone"}, ended)
		require.NoError(t, err)
		require.True(t, settled)
	}
	count, err := dead.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, users, count)
	listed := func() []string {
		letters, _, err := dead.List(t.Context(), messages.DeadLettersRequest{})
		require.NoError(t, err)
		var names []string
		for _, l := range letters {
			names = append(names, l.User)
		}
		return names
	}
	var want []string
	for i := range users {
		want = append(want, user(i))
	}
	require.Equal(t, want, listed())
	early, _, err := dead.List(t.Context(), messages.DeadLettersRequest{Before: began.Add(30 * time.Millisecond), Limit: 10})
	require.NoError(t, err)
	require.Len(t, early, 10)
	early, _, err = dead.List(t.Context(), messages.DeadLettersRequest{
		Before: began.Add(30 * time.Millisecond), After: early[9], Limit: 100,
	})
	require.NoError(t, err)
	require.Len(t, early, 20)
	require.Equal(t, user(10), early[0].User)

	letter, ok, err := dead.Get(t.Context(), user(7), "m")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "text", string(letter.Content))
	d, err := dead.Retry(t.Context(), messages.RetryRequest{User: user(0), ID: "m", Generation: "g2"})
	require.NoError(t, err)
	require.True(t, d.Allowed)
	purged, err := dead.Purge(t.Context(), user(1), "m")
	require.NoError(t, err)
	require.True(t, purged)
	require.Equal(t, want[2:], listed())
	standing, err := story.RecordsIn(t, cluster.Client(), o.Prefix).Look(t.Context(), user(0), "m", "none")
	require.NoError(t, err)
	require.Equal(t, []messages.State{messages.StatePending, messages.StateUnknown},
		[]messages.State{standing[0].State, standing[1].State})
	forgotten, more, err := dead.PurgeBefore(t.Context(), time.Time{}, 0)
	require.NoError(t, err)
	require.Equal(t, []any{users - 2, false}, []any{forgotten, more})
}
