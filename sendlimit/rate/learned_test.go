package rate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Package deliver tests how workers find a limit with it.
func TestLearnedRate(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), "push")
	require.NoError(t, err)
	now := time.UnixMilli(1_800_000_000_000).UTC()
	server.SetTime(now)
	refused := func(generation, calls int64) rate.Learned {
		l, err := paces.Refused(t.Context(), rate.Refusal{Generation: generation, Calls: calls, Pause: time.Second})
		require.NoError(t, err)
		state, err := paces.Load(t.Context())
		require.NoError(t, err)
		require.Equal(t, l, state.Learned)
		return l
	}
	used := func(seconds int) (l rate.Learned) {
		for range seconds {
			now = now.Add(time.Second)
			server.SetTime(now)
			l, err = paces.Used(t.Context())
			require.NoError(t, err)
		}
		return l
	}
	require.Zero(t, used(1), "it was never refused")
	require.Equal(t, rate.Learned{Generation: 1, Rate: 50, Refused: 100}, refused(0, 100))
	require.Equal(t, rate.Learned{Generation: 1, Rate: 100, Refused: 200}, refused(0, 100), "by another process")
	require.Equal(t, rate.Learned{Generation: 1, Rate: 400, Refused: 200}, used(2), "it begins slowly")
	require.Equal(t, rate.Learned{Generation: 2, Rate: 200, Refused: 400}, refused(1, 9))
	require.Equal(t, rate.Learned{Generation: 2, Rate: 200, Refused: 400}, refused(1, 9), "the call began before")
	require.InDelta(t, 392, used(20).Rate, 1, "it comes near")
	near := used(1)
	require.InDelta(t, near.Rate*.9, refused(2, 9).Rate, .01)
	require.InDelta(t, near.Rate*.9*.7, refused(3, 9).Rate, .01, "at once again")
	require.Greater(t, used(60).Rate, 4*near.Rate, "the limit was raised")
	for generation := int64(4); generation < 60; generation++ {
		require.GreaterOrEqual(t, refused(generation, 9).Rate, .1)
	}
	server.FastForward(time.Hour)
	require.Zero(t, used(1), "it is forgotten")
}
