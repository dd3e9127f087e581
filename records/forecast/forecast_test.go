package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func options(t *testing.T, rules ...string) sendlimit.Options {
	t.Helper()
	return sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, rules...)), Records: true}
}

func newForecasts(t *testing.T, client redis.UniversalClient, o sendlimit.Options) *forecast.Forecasts {
	t.Helper()
	f, err := forecast.New(client, o)
	require.NoError(t, err)
	return f
}

func TestForecastsAreTheTruth(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for seed, users := range []int{1, 5, 30} {
		server, client := redistest.Embedded(t)
		server.SetTime(story.At("11:11:11.111"))
		plan(t, client, uint64(seed), users, story.At("11:11:11.111"), 200)
	}
}

func TestForecastsOfARealRedis(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Millisecond)
	plan(t, redistest.Real(t).Client(), 7, 40, now, 1200)
}

func TestForecastsOfACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Millisecond)
	client := redistest.RealCluster(t).Client()
	plan(t, client, 8, 100, now, 400)
	f := newForecasts(t, client, options(t, "1/minute"))
	kept, err := f.Keep(t.Context(), now)
	require.NoError(t, err)
	require.True(t, kept)
	_, ok, err := f.Latest(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
}

// Lists that are longer than a call reads go on in others, also if all entries are of one
// moment, and minutes and hours are exact to the millisecond.
func TestLongListsAreCountedInParts(t *testing.T) {
	t.Parallel()
	server, embedded := redistest.Embedded(t)
	now := story.At("11:11:11.111")
	server.SetTime(now)
	for _, client := range []*redis.Client{embedded, redistest.Real(t).Client()} {
		o := options(t, "1/minute")
		keys, horizon := story.KeysOf(o), sendlimit.DefaultHorizon
		p := &planner{T: t, now: now, due: make(map[[2]string]time.Time)}
		random := rand.New(rand.NewPCG(3, 4))
		n := 0
		add := func(list int, due time.Time) {
			n++
			id := fmt.Sprint("m", n)
			p.due[[2]string{"alice", id}] = due
			member := redis.Z{Score: float64(due.Add(-horizon).UnixMilli()), Member: keyspace.WatchMember("alice", id, "g")}
			require.NoError(t, client.ZAdd(t.Context(), keys.FarOf(keyspace.Partition("alice"), list), member).Err())
		}
		for range 700 {
			add(0, story.At("12:00"))
			add(1, story.At("13:00").Add(time.Duration(random.IntN(3))*time.Hour))
			add(2, now.Add(time.Duration(random.Int64N(int64(40*24*time.Hour)))).Truncate(time.Millisecond))
			add(3, now.Add(time.Duration(random.Int64N(int64(90*time.Minute)))).Truncate(time.Millisecond))
			add(4, now.Add(-time.Duration(random.Int64N(int64(time.Hour)))).Truncate(time.Millisecond))
		}
		for range 128 {
			add(5, story.At("18:30"))
		}
		for range 300 {
			add(6, story.At("23 10:59:59.999"))
			add(7, story.At("23 11:00"))
			add(8, story.At("23 10:30"))
			add(8, story.At("23 11:30"))
		}
		for _, edge := range []string{"11:11:11.110", "11:11:11.111", "11:11:59.999", "11:12", "11:59:59.999", "12:10:59.999", "12:11", "12:59:59.999"} {
			add(15, story.At(edge))
		}
		calls := new(redistest.ScriptCalls)
		client.AddHook(calls)
		var got forecast.Forecast
		require.Greater(t, calls.During(func() { got = count(t, newForecasts(t, client, o), now) }), 3)
		require.Equal(t, p.want(), got)
	}
}

// A near list that is longer than a read goes on in others.
func TestALongNearListIsCountedInParts(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	o, now := options(t, "1/minute"), story.At("12:00")
	keys := story.KeysOf(o)
	const n = 2500
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i := range n {
			id := strconv.Itoa(i)
			pipe.ZAdd(t.Context(), keys.Near("alice"), redis.Z{Score: float64(i), Member: keyspace.WatchMember("alice", id, "g")})
			pipe.HSet(t.Context(), keys.Record("alice", id), keyspace.RecordSendAt, now.Add(time.Minute).UnixMilli())
		}
		return nil
	})
	require.NoError(t, err)
	got := count(t, newForecasts(t, client, o), now)
	require.Equal(t, n, got.Pending)
	require.Equal(t, n, got.Minutes[1])
}

func TestNothingIsPending(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	f := newForecasts(t, client, options(t, "1/minute"))
	got := count(t, f, time.Time{})
	require.Equal(t, story.At("12:00"), got.At)
	require.Zero(t, got.Pending)
	require.Empty(t, got.Heat)
	_, ok, err := f.Latest(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
}

// Entries that can't be read, and messages without a record, are passed over.
func TestWhatCannotBeReadIsNotCounted(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	o := options(t, "1/minute")
	keys := story.KeysOf(o)
	for _, member := range []string{"?", "g/lost/alice"} {
		_, err := server.ZAdd(keys.Near("alice"), 1, member)
		require.NoError(t, err)
	}
	server.HSet(keys.Record("alice", "odd"), keyspace.RecordSendAt, "soon")
	_, err := server.ZAdd(keys.Near("alice"), 1, "g/odd/alice")
	require.NoError(t, err)
	require.Zero(t, count(t, newForecasts(t, client, o), story.At("12:00")).Pending)
}
