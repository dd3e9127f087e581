package tally_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/tally"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func batches(calls string, numbers ...tally.Numbers) func() []tally.Batch {
	return func() []tally.Batch { return []tally.Batch{{Calls: calls, Numbers: numbers}} }
}

func nothing() []tally.Batch { return nil }

// What could not be written during an outage is written afterwards, each batch once and in
// few calls.
func TestCountsWaitForTheStore(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	began := time.Now()
	server.SetTime(began)
	expires := began.Add(time.Hour).UnixMilli()
	calls := new(redistest.ScriptCalls)
	client.AddHook(calls)
	w := tally.NewWriter(client, "counting", 100)
	write := func(key string) error {
		return w.Write(t.Context(), batches("{a}calls", tally.Numbers{Key: key, Expires: expires, Counts: map[string]int64{"n": 1}}))
	}
	server.SetError("ERR away")
	for range 50 {
		require.ErrorContains(t, write("{a}1"), "counting")
		require.Error(t, write("{a}2"))
	}
	server.SetError("")
	require.Equal(t, 2, calls.During(func() { require.NoError(t, w.Write(t.Context(), nothing)) }),
		"the one that was tried, and all others together")
	require.Zero(t, calls.During(func() { require.NoError(t, w.Write(t.Context(), nothing)) }))
	for _, key := range []string{"{a}1", "{a}2"} {
		require.Equal(t, "50", server.HGet(key, "n"))
		require.Equal(t, time.Hour, server.TTL(key).Round(time.Second))
	}
}

// The tokens of the last calls are remembered, and no more than that.
func TestFewTokensAreRemembered(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	w := tally.NewWriter(client, "counting", 100)
	for range 30 {
		require.NoError(t, w.Write(t.Context(), batches("calls", tally.Numbers{
			Key: "numbers", Expires: time.Now().Add(time.Hour).UnixMilli(), Counts: map[string]int64{"n": 2},
		})))
	}
	require.Equal(t, "60", server.HGet("numbers", "n"))
	tokens, err := client.Get(t.Context(), "calls").Result()
	require.NoError(t, err)
	require.Len(t, tokens, 100)
}

// Numbers that have expired meanwhile are not kept.
func TestExpiredNumbersAreNotKept(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	for _, c := range []redis.Cmdable{client, redistest.Real(t).Client()} {
		w := tally.NewWriter(c, "counting", 100)
		require.NoError(t, w.Write(t.Context(), batches("calls", tally.Numbers{
			Key: "numbers", Expires: time.Now().Add(-time.Hour).UnixMilli(), Counts: map[string]int64{"n": 2},
		})))
		exists, err := c.Exists(context.WithoutCancel(t.Context()), "numbers", "calls").Result()
		require.NoError(t, err)
		require.Zero(t, exists)
	}
}
