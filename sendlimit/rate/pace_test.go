package rate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rate.Rate{
		"100/second":      {Count: 100, Interval: time.Second},
		"6000/minute":     {Count: 6000, Interval: time.Minute},
		"50/hour":         {Count: 50, Interval: time.Hour},
		"10/day":          {Count: 10, Interval: 24 * time.Hour},
		"20/500ms":        {Count: 20, Interval: 500 * time.Millisecond},
		"1/1m30s":         {Count: 1, Interval: 90 * time.Second},
		"100000/744h0m0s": {Count: rate.MaxCount, Interval: rate.MaxInterval},
	} {
		r, err := rate.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, r)
		require.Equal(t, text, r.String())
	}
	r, err := rate.Parse("5/60s")
	require.NoError(t, err)
	require.Equal(t, "5/minute", r.String())
	for _, text := range []string{
		"", "5", "5/", "/second", "0/second", "-1/second", "+1/second", "1.5/second", "05/second", "100001/second",
		"5/week", "5/calendar_day", "5/0s", "5/-1s", "5/745h", "5/100us", "5/1500us", "5/second ", "5/s",
	} {
		_, err := rate.Parse(text)
		require.EqualError(t, err, `rate "`+text+`" is not allowed: use a rate such as 100/second, 6000/minute or 20/500ms:`+
			" 1 to 100000, in 1ms to 31 days")
	}
}

func TestPaceIsStored(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), "push")
	require.NoError(t, err)
	loaded := func() rate.PaceState {
		state, err := paces.Load(t.Context())
		require.NoError(t, err)
		return state
	}
	require.Equal(t, rate.PaceState{}, loaded())
	require.Equal(t, "none", loaded().String())

	fast := rate.Pace{Rate: rate.Rate{Count: 100, Interval: time.Second}, Burst: 20}
	slow := rate.Pace{Rate: rate.Rate{Count: 5, Interval: time.Minute}}
	holds, err := paces.Seed(t.Context(), rate.Pace{})
	require.NoError(t, err)
	require.Equal(t, rate.Pace{}, holds)
	require.Empty(t, server.Keys())
	for range 2 { // a seed whose answer got lost is repeated
		holds, err = paces.Seed(t.Context(), fast)
		require.NoError(t, err)
		require.Equal(t, fast, holds)
	}
	holds, err = paces.Seed(t.Context(), slow)
	require.NoError(t, err)
	require.Equal(t, fast, holds, "the first holds")
	require.Equal(t, "100/second, at most 20 at once", holds.String())

	require.NoError(t, paces.Apply(t.Context(), slow))
	require.Equal(t, slow, loaded().Pace)
	holds, err = paces.Seed(t.Context(), fast)
	require.NoError(t, err)
	require.Equal(t, slow, holds, "no burst where none was set")

	until, err := paces.Pause(t.Context(), time.Minute)
	require.NoError(t, err)
	shorter, err := paces.Pause(t.Context(), time.Second)
	require.NoError(t, err)
	require.Equal(t, until, shorter, "the longer one holds")
	require.Equal(t, until, loaded().PausedUntil)
	require.InDelta(t, time.Minute.Seconds(), server.TTL("sl:{pace:push}:pause").Seconds(), 5)
	require.NoError(t, paces.Resume(t.Context()))
	require.NoError(t, paces.Apply(t.Context(), rate.Pace{}))
	require.Empty(t, server.Keys())
}

// A pause that was set while the store's clock was ahead ends no later than others once it
// is back.
func TestAPauseThatIsTooLongIsReplaced(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), "push")
	require.NoError(t, err)
	now := time.UnixMilli(1_800_000_000_000).UTC()
	pause := func(at time.Time) time.Duration {
		server.SetTime(at)
		until, err := paces.Pause(t.Context(), time.Minute)
		require.NoError(t, err)
		return until.Sub(now)
	}
	require.Equal(t, 30*time.Hour+time.Minute, pause(now.Add(30*time.Hour)))
	require.Equal(t, time.Minute, pause(now))
	require.Equal(t, 20*time.Hour+time.Minute, pause(now.Add(20*time.Hour)))
	require.Equal(t, 20*time.Hour+time.Minute, pause(now), "it may have been meant")
}

func TestPacesThatAreNone(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	paces, err := rate.NewPaces(client, keyspace.KeysUnder(""), "push")
	require.NoError(t, err)
	second := rate.Rate{Count: 10, Interval: time.Second}
	for want, pace := range map[string]rate.Pace{
		`burst "11" is not allowed: use 1 to 10, which is all that the rate allows in 1s`: {Rate: second, Burst: 11},
		`burst "-1" is not allowed: use 1 to 10, which is all that the rate allows in 1s`: {Rate: second, Burst: -1},
		`rate "none" is not allowed: use a rate such as 100/second, 6000/minute or 20/500ms: 1 to 100000, in 1ms to 31 days`: {
			Burst: 5,
		},
	} {
		require.EqualError(t, paces.Apply(t.Context(), pace), want)
		_, err := paces.Seed(t.Context(), pace)
		require.EqualError(t, err, want)
	}
	_, err = paces.Pause(t.Context(), 0)
	require.EqualError(t, err, `pause "0s" is not allowed: use 1ms to 24h0m0s`)
	_, err = paces.Pause(t.Context(), rate.MaxPause+1)
	require.EqualError(t, err, `pause "24h0m0.000000001s" is not allowed: use 1ms to 24h0m0s`)
	_, err = rate.NewPaces(client, keyspace.KeysUnder(""), "{}")
	require.EqualError(t, err, `target "{}" is not allowed: use 1 to 64 of a-z 0-9 _ -`)

	require.NoError(t, client.Set(t.Context(), "sl:{pace:push}:rate", "5 x o", 0).Err())
	_, err = paces.Load(t.Context())
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.ErrorContains(t, err, "can't be read")
	server.Close()
	_, err = paces.Load(t.Context())
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.ErrorAs(t, paces.Apply(t.Context(), rate.Pace{}), new(*fault.UnavailableError))
}
