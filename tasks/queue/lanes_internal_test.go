package queue

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A lane lies in the share of its queue. It is the same in each program. An account has a few,
// and one for what is in no campaign.
func TestLanesLieBesideTheirQueue(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 64} {
		for i := range n {
			name := laneOf("sl:push", sendlimit.Origin{Account: "acme", Campaign: "sale"}, i, n)
			require.Equal(t, i, share(slot(name), n))
			require.True(t, isLane("sl:push", name))
			require.True(t, ours("sl:push", name))
			require.False(t, ours("other:push", name))
		}
	}
	lanes := make(map[string]bool)
	for c := range 1000 {
		lanes[laneOf("sl:push", sendlimit.Origin{Account: "acme", Campaign: fmt.Sprint(c)}, 0, 1)] = true
	}
	require.Len(t, lanes, campaignLanes)
	require.False(t, lanes[laneOf("sl:push", sendlimit.Origin{Account: "acme"}, 0, 1)])
	require.Equal(t, "sl:push:lane:b84f554e20186137", laneOf("sl:push", sendlimit.Origin{Account: "acme"}, 0, 1))
	for _, name := range []string{"sl:push:lane:", "sl:push:lane:12", "sl:push:lane:zzzzzzzzzzzzzzzz", "sl:push:lane:AAAAAAAAAAAAAAAA", "sl:push:1:lane:aaaaaaaaaaaaaaaa"} {
		require.False(t, isLane("sl:push", name), name)
	}
}

// An account has so many messages a second in the queues that all share. What others have does
// not count, and neither does another second.
func TestAHerdIsCountedByAccountAndSecond(t *testing.T) {
	t.Parallel()
	h := newHerds()
	due := time.Unix(1_000_000, 0)
	for _, at := range []time.Time{due, due.Add(time.Second), due.Add(herdSeconds * time.Second)} {
		for i := range 2 * ordinary {
			require.Equal(t, i >= ordinary, h.add("acme", at.Add(time.Duration(i)*time.Millisecond), due), i)
		}
	}
	others := 0
	for i := range 10 {
		if !h.add(fmt.Sprint("account", i), due.Add(time.Second), due) {
			others++
		}
	}
	require.GreaterOrEqual(t, others, 8, "few share a counter")
}

// A program that puts no tasks into its lanes any more may use others.
func TestLanesAreForgotten(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	h, now := newHerds(), time.Unix(1_000_000, 0)
	for i := range maxLanes {
		require.True(t, h.mayUse(fmt.Sprint("lane", i), now))
		require.NoError(t, h.list(t.Context(), client, fmt.Sprint("lane", i), now))
	}
	require.False(t, h.mayUse("another", now.Add(serveOtherFor-time.Second)))
	require.True(t, h.mayUse("lane7", now.Add(serveOtherFor-time.Second)))
	require.True(t, h.mayUse("another", now.Add(serveOtherFor)))
}

// More lanes than a worker serves at a time take turns. They go when they were empty for a
// while, and come again with their tasks.
func TestManyLanesTakeTurns(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	q, err := New(client, "", 1, Polling{Forward: 50 * time.Millisecond, Fetch: 10 * time.Millisecond})
	require.NoError(t, err)
	due := time.Now().Truncate(time.Second)
	submit := func(accounts int) {
		for a := range accounts {
			together := make([]sendlimit.Timer, ordinary+1)
			for i := range together {
				together[i] = sendlimit.Timer{
					User: "u", ID: fmt.Sprint(a, "-", i), Generation: fmt.Sprint("g", a, "-", i), Due: due,
					Origin: sendlimit.Origin{Account: fmt.Sprint("account", a)},
				}
			}
			require.NoError(t, q.enqueueBatch(t.Context(), together, time.Time{}))
		}
	}
	submit(maxOthers + 20)
	names, err := q.inspector.Queues()
	require.NoError(t, err)
	require.Greater(t, len(names), maxOthers)

	var delivered atomic.Int64
	server, err := q.Serve(t.Context(), ServerOptions{
		Deliver: func(context.Context, sendlimit.Timer, func()) error {
			delivered.Add(1)
			return nil
		},
		ShutdownTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		server.Stop()
		server.Finish(nil)
	})
	all := int64((maxOthers + 20) * (ordinary + 1))
	require.Eventually(t, func() bool { return delivered.Load() == all }, time.Minute, 10*time.Millisecond)
	server.stopLook()

	require.Eventually(t, func() bool {
		require.NoError(t, server.lookForOthers(t.Context(), time.Now()))
		return !slices.ContainsFunc(slices.Collect(maps.Values(server.others)), func(o *other) bool { return o.atWork })
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, server.lookForOthers(t.Context(), time.Now().Add(serveOtherFor+time.Minute)))
	require.Empty(t, server.others)
	server.running.Wait()
	names, err = q.inspector.Queues()
	require.NoError(t, err)
	require.Equal(t, []string{"sl:push"}, names)

	// The program has listed the lane before, and does it again after a while.
	listed := q.spread.herds.listed
	for name := range listed {
		listed[name] = time.Now().Add(-listedFor)
	}
	submit(1)
	names, err = q.inspector.Queues()
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(names, func(name string) bool { return !isLane("sl:push", name) }), 1)
	require.NoError(t, server.lookForOthers(t.Context(), time.Now()))
	require.Eventually(t, func() bool { return delivered.Load() == all+ordinary+1 }, time.Minute, 10*time.Millisecond)
}
