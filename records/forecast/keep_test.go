package forecast_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// submitted has messages of alice.
func submitted(t *testing.T, client redis.UniversalClient, o sendlimit.Options, due ...string) {
	t.Helper()
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	for _, at := range due {
		d, err := timeline.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: keyspace.NewToken(), At: story.At(at), Record: story.RecordOf(keyspace.NewToken(), "text"),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
}

// newQuick returns Forecasts whose counts take no time, however slow the machine is.
func newQuick(t *testing.T, client redis.UniversalClient, o sendlimit.Options) *forecast.Forecasts {
	t.Helper()
	f := newForecasts(t, client, o)
	f.SetLocal(func() time.Time { return time.Time{} })
	return f
}

func keep(t *testing.T, f *forecast.Forecasts) (kept bool) {
	t.Helper()
	kept, err := f.Keep(t.Context(), time.Time{})
	require.NoError(t, err)
	return kept
}

func latest(t *testing.T, f *forecast.Forecasts) forecast.Forecast {
	t.Helper()
	latest, ok, err := f.Latest(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	return latest
}

// One of several callers counts, and the others can read it.
func TestOneOfSeveralCallersKeepsAForecast(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	o := options(t, "1/minute")
	submitted(t, client, o, "12:00:30", "12:30", "15:00", "24 15:00")
	var turns atomic.Int32
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			kept, err := newForecasts(t, client, o).Keep(t.Context(), time.Time{})
			if err != nil {
				t.Error(err)
			}
			if kept {
				turns.Add(1)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1, turns.Load())
	f := newForecasts(t, client, o)
	got := latest(t, f)
	require.Positive(t, got.Took)
	got.Took = 0
	require.Equal(t, count(t, f, story.At("12:00")), got)
	require.Equal(t, 4, got.Pending)

	rest := server.TTL(story.KeysOf(o).Turn(keyspace.WorkForecast))
	require.GreaterOrEqual(t, rest, 5*time.Second)
	server.FastForward(rest)
	require.True(t, keep(t, f))
	server.FastForward(time.Hour)
	_, ok, err := f.Latest(t.Context())
	require.NoError(t, err)
	require.False(t, ok, "it is too old")
}

// The later hours stay as they were counted until their own rest is over. What is near, and
// how many messages there are, is fresh.
func TestLaterHoursAreCountedLessOften(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:59:30"))
	o := options(t, "1/minute")
	submitted(t, client, o, "15:00", "23 12:30", "23 13:30", "24 15:00")
	f := newQuick(t, client, o)
	require.True(t, keep(t, f))
	first := latest(t, f)
	require.Equal(t, story.At("12:59:30"), first.HeatAt)

	submitted(t, client, o, "15:30", "23 12:40", "24 15:30")
	server.FastForward(40 * time.Second)
	server.SetTime(story.At("13:00:10"))
	require.True(t, keep(t, f))
	got := latest(t, f)
	require.Equal(t, story.At("13:00:10"), got.At)
	require.Equal(t, story.At("12:59:30"), got.HeatAt)
	require.Equal(t, 7, got.Pending)
	require.Equal(t, []forecast.HourCount{
		{Start: story.At("15:00"), Count: 2},
		{Start: story.At("23 12:00"), Count: 2}, // was later, is near
		{Start: story.At("23 13:00"), Count: 1},
		{Start: story.At("24 15:00"), Count: 1},
	}, got.Heat)

	server.FastForward(40 * time.Second)
	server.SetTime(story.At("13:00:50"))
	require.True(t, keep(t, f))
	got = latest(t, f)
	require.Equal(t, got.At, got.HeatAt)
	require.Equal(t, 2, got.Heat[3].Count)
}

func TestTheRestsAdapt(t *testing.T) {
	t.Parallel()
	for took, rest := range map[time.Duration][2]time.Duration{
		0:                     {5 * time.Second, time.Minute},
		10 * time.Millisecond: {5 * time.Second, time.Minute},
		50 * time.Millisecond: {15 * time.Second, time.Minute},
		time.Second:           {300 * time.Second, 700 * time.Second},
		time.Minute:           {300 * time.Minute, 700 * time.Minute},
	} {
		require.Equal(t, rest[0], forecast.NearRest(took), took)
		require.Equal(t, rest[1], forecast.LaterRest(took), took)
	}
}

// After a failed count another caller may try soon, and what was kept stays.
func TestAFailedCountFreesTheTurn(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	o := options(t, "1/minute")
	keys := story.KeysOf(o)
	require.NoError(t, server.Set(keys.NearOf(5), "no list"))
	f := newQuick(t, client, o)
	kept, err := f.Keep(t.Context(), time.Time{})
	require.ErrorContains(t, err, "counting what is due when")
	require.False(t, kept)
	require.Equal(t, 5*time.Second, server.TTL(keys.Turn(keyspace.WorkForecast)))
	require.NoError(t, server.Set(keys.Forecast(), "{"))
	_, _, err = f.Latest(t.Context())
	require.ErrorContains(t, err, "reading what is due when")

	// What can't be read is replaced.
	server.Del(keys.NearOf(5))
	server.FastForward(5 * time.Second)
	require.True(t, keep(t, f))
	require.Zero(t, latest(t, f).Pending)
}

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
