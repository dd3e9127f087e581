package forecast_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// look looks until there is a whole forecast: on a busy machine the first count may take longer
// than a look waits.
func look(t *testing.T, f *forecast.Forecasts) (got forecast.Forecast) {
	t.Helper()
	require.Eventually(t, func() bool {
		var ok bool
		var err error
		got, ok, err = f.Look(t.Context(), time.Time{})
		return err == nil && ok && !got.HeatAt.IsZero()
	}, time.Minute, time.Millisecond)
	return got
}

// Nobody counts before somebody looks. After that, a look counts what changed once the rest
// is over.
func TestALookCountsWhatIsOld(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	o := options(t, "1/minute")
	submitted(t, client, o, "12:30", "15:00", "24 15:00")
	f := newQuick(t, client, o)
	require.False(t, server.Exists(story.KeysOf(o).Forecast()))
	got := look(t, f)
	require.Equal(t, 3, got.Pending)
	require.Equal(t, story.At("12:00"), got.At)
	require.Equal(t, got.At, got.HeatAt)

	submitted(t, client, o, "12:40")
	server.SetTime(story.At("12:00:04"))
	server.FastForward(4 * time.Second)
	require.Equal(t, got, look(t, f), "it is not old")
	require.Equal(t, got, look(t, newForecasts(t, client, o)), "it is everybody's")
	server.SetTime(story.At("12:00:05"))
	require.Eventually(t, func() bool {
		server.FastForward(time.Second) // the rest begins at the end of the first count, after it can be read
		return look(t, f).At.Equal(story.At("12:00:05"))
	}, time.Minute, time.Millisecond)
	require.Equal(t, 4, look(t, f).Pending)
}

// However many look at once, in one process or several, one counts.
func TestManyWhoLookCostOneCount(t *testing.T) {
	t.Parallel()
	c, first, second := pacedCallers(t, time.Millisecond, time.Millisecond)
	require.NotZero(t, look(t, first).At)
	require.Equal(t, partitions, c.counted().near)
	var failed atomic.Int32
	var all sync.WaitGroup
	for _, f := range []*forecast.Forecasts{first, second} {
		for range 20 {
			all.Go(func() {
				if _, ok, err := f.Look(t.Context(), time.Time{}); !ok || err != nil {
					failed.Add(1)
				}
			})
		}
	}
	all.Wait()
	require.Zero(t, failed.Load())
	require.Equal(t, partitions, c.counted().near)
	require.Equal(t, partitions, c.counted().later)
}

// Who looks does not wait long for a count that takes long. It goes on, and another look has
// its result.
func TestALookWaitsForALongCountOnlyForAWhile(t *testing.T) {
	t.Parallel()
	c, first, second := pacedCallers(t, time.Second, time.Second)
	goOn := make(chan struct{})
	c.during = func() { <-goOn }
	_, ok, err := first.Look(t.Context(), time.Time{})
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = second.Look(t.Context(), time.Time{})
	require.NoError(t, err)
	require.False(t, ok, "another one counts")
	close(goOn)
	require.Eventually(t, func() bool {
		got, ok, err := first.Look(t.Context(), time.Time{})
		return err == nil && ok && !got.HeatAt.IsZero()
	}, time.Minute, time.Millisecond)
	require.Equal(t, partitions, c.counted().near)
}

// A look tells of a count that failed once, and after Close nothing is counted.
func TestAFailedCountIsTold(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	o := options(t, "1/minute")
	keys := story.KeysOf(o)
	require.NoError(t, server.Set(keys.NearOf(5), "no list"))
	f := newQuick(t, client, o)
	_, ok, err := f.Look(t.Context(), time.Time{})
	require.ErrorContains(t, err, "counting what is due when")
	require.False(t, ok)
	_, _, err = f.Look(t.Context(), time.Time{})
	require.NoError(t, err)
	server.Del(keys.NearOf(5))
	server.FastForward(5 * time.Second)
	look(t, f)

	server.FlushAll()
	f.Close()
	_, ok, err = f.Look(t.Context(), time.Time{})
	require.NoError(t, err)
	require.False(t, ok)
}
