package counters_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and the model give the same answers to random histories of calls.
func TestCountersAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckCounters(t, client, fmt.Sprintf("c%d", histories.Add(1)))
	})
}

// The client repeats a call whose reply was lost: what it gives back is given back once.
func TestGiveBacksWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Embedded(t)
	client, lose := redistest.LosingReplies(t, server.Addr())
	c := counters.New(client, keyspace.KeysUnder(""))
	call := counters.Request{
		Key: "alice", N: 10, At: time.Date(2050, 11, 22, 11, 11, 11, 0, time.UTC),
		Counters: []counters.Counter{
			{Name: "requests_per_day", Limit: 10, Period: calendar.Day}, {Name: "burst", Limit: 10, Window: time.Hour},
		},
	}
	d, err := c.Count(t.Context(), call)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	call.N = 2
	for used := int64(8); used >= 4; used -= 2 { // another call is another one
		lose.Store(true)
		require.NoError(t, c.GiveBack(t.Context(), call))
		require.False(t, lose.Load(), "a reply was lost")
		d, err = c.Peek(t.Context(), call)
		require.NoError(t, err)
		for _, u := range d.Counters {
			require.Equal(t, used, u.Used, u.Counter.Name)
		}
	}
	for _, key := range server.Keys() {
		require.Positive(t, server.TTL(key), key)
	}
}
