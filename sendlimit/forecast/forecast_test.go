package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
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

// planner submits, moves, cancels and hands over messages at random, and knows their times.
type planner struct {
	*testing.T

	random   *rand.Rand
	timeline *sendlimit.Timeline
	watch    *messages.WatchList
	now      time.Time
	users    []string
	due      map[[2]string]time.Time
	n        int
}

func (p *planner) user() string { return p.users[p.random.IntN(len(p.users))] }

// later is a time soon, within a day, or within a year.
func (p *planner) later() time.Time {
	within := []time.Duration{10 * time.Minute, 2 * time.Hour, 48 * time.Hour, 365 * 24 * time.Hour}[p.random.IntN(4)]
	return p.now.Add(time.Duration(p.random.Int64N(int64(within)))).Truncate(time.Millisecond)
}

func (p *planner) any() [2]string {
	for key := range p.due {
		return key
	}
	return [2]string{p.user(), "none"}
}

func (p *planner) step() {
	p.Helper()
	switch key := p.any(); p.random.IntN(10) {
	case 0:
		d, err := p.timeline.Release(p.Context(), sendlimit.ReleaseRequest{User: key[0], ID: key[1], Now: p.now})
		require.NoError(p, err)
		if d.Allowed {
			delete(p.due, key)
		}
	case 1, 2:
		d, err := p.timeline.Move(p.Context(), sendlimit.MoveRequest{
			User: key[0], ID: key[1], At: p.later(), Generation: keyspace.NewToken(), Now: p.now,
		})
		require.NoError(p, err)
		if d.Allowed {
			p.due[key] = d.At
		}
	default:
		p.n++
		key := [2]string{p.user(), fmt.Sprint("m", p.n)}
		if p.random.IntN(2) == 0 {
			key[1] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", p.n)
		}
		d, err := p.timeline.Reserve(p.Context(), sendlimit.Request{
			User: key[0], ID: key[1], At: p.later(), Record: story.RecordOf(keyspace.NewToken(), "text"), Now: p.now,
		})
		require.NoError(p, err)
		if d.Allowed {
			p.due[key] = d.At
		}
	}
}

// handOver does what workers do with the watch list.
func (p *planner) handOver() {
	p.Helper()
	_, err := p.watch.BringNear(p.Context(), p.now)
	require.NoError(p, err)
	due, unreadable, err := p.watch.Due(p.Context(), p.now, 50)
	require.NoError(p, err)
	require.Zero(p, unreadable)
	for _, entry := range due {
		found, err := p.watch.HandOver(p.Context(), []messages.Watched{entry}, p.now)
		require.NoError(p, err)
		require.NoError(p, p.watch.Confirm(p.Context(), found.Soon))
	}
}

// want is the forecast, counted plainly.
func (p *planner) want() forecast.Forecast {
	f := forecast.Forecast{At: p.now, Minutes: make([]int, 60), Hours: make([]int, 24)}
	heat := make(map[time.Time]int)
	for _, due := range p.due {
		f.Pending++
		if due.Before(p.now) {
			f.Overdue++
			continue
		}
		heat[due.Truncate(time.Hour)]++
		for m := range f.Minutes {
			if due.Truncate(time.Minute).Equal(p.now.Truncate(time.Minute).Add(time.Duration(m) * time.Minute)) {
				f.Minutes[m]++
			}
		}
		for h := range f.Hours {
			if due.Truncate(time.Hour).Equal(p.now.Truncate(time.Hour).Add(time.Duration(h) * time.Hour)) {
				f.Hours[h]++
			}
		}
	}
	for h := range 400 * 24 {
		start := p.now.Truncate(time.Hour).Add(time.Duration(h) * time.Hour)
		if heat[start] > 0 {
			f.Heat = append(f.Heat, forecast.HourCount{Start: start, Count: heat[start]})
		}
	}
	return f
}

func plan(t *testing.T, client redis.UniversalClient, seed uint64, users int, from time.Time, steps int) {
	t.Helper()
	o := options(t, "30/hour")
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	watch, err := messages.NewWatchList(client, o)
	require.NoError(t, err)
	p := &planner{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), timeline: timeline, watch: watch,
		now: from, due: make(map[[2]string]time.Time),
	}
	for n := range users {
		p.users = append(p.users, fmt.Sprintf("user%d", n))
	}
	p.users[0] = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	forecasts := newForecasts(t, client, o)
	for n := range steps {
		p.step()
		if n%40 != 39 {
			continue
		}
		if p.random.IntN(2) == 0 {
			p.handOver()
		}
		p.now = p.now.Add(time.Duration(p.random.Int64N(int64(3 * time.Minute)))).Truncate(time.Millisecond)
		if n%100 > 40 {
			got, err := forecasts.Count(t.Context(), p.now)
			require.NoError(t, err)
			got.Took = 0
			require.Equal(t, p.want(), got, "seed %d, step %d", seed, n)
		}
	}
}

func TestForecastsAreTheTruth(t *testing.T) {
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
		for _, edge := range []string{"11:11:11.110", "11:11:11.111", "11:11:59.999", "11:12", "11:59:59.999", "12:10:59.999", "12:11", "12:59:59.999"} {
			add(15, story.At(edge))
		}
		calls := new(redistest.ScriptCalls)
		client.AddHook(calls)
		var got forecast.Forecast
		require.Greater(t, calls.During(func() {
			var err error
			got, err = newForecasts(t, client, o).Count(t.Context(), now)
			require.NoError(t, err)
		}), 2)
		got.Took = 0
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
	got, err := newForecasts(t, client, o).Count(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, n, got.Pending)
	require.Equal(t, n, got.Minutes[1])
}

func TestNothingIsPending(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	f := newForecasts(t, client, options(t, "1/minute"))
	got, err := f.Count(t.Context(), time.Time{})
	require.NoError(t, err)
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
	got, err := newForecasts(t, client, o).Count(t.Context(), story.At("12:00"))
	require.NoError(t, err)
	require.Zero(t, got.Pending)
}

// One of several callers counts, and the others can read it.
func TestOneOfSeveralCallersKeepsAForecast(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	o := options(t, "1/minute")
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	for i, at := range []string{"12:00:30", "12:30", "15:00", "24 15:00"} {
		d, err := timeline.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: strconv.Itoa(i), At: story.At(at), Record: story.RecordOf(fmt.Sprint("g", i), "text"),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
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
	latest, ok, err := f.Latest(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	counted, err := f.Count(t.Context(), story.At("12:00"))
	require.NoError(t, err)
	require.Positive(t, latest.Took)
	counted.Took, latest.Took = 0, 0
	require.Equal(t, counted, latest)
	require.Equal(t, 4, latest.Pending)

	rest := server.TTL(story.KeysOf(o).ForecastTurn())
	require.GreaterOrEqual(t, rest, 5*time.Second)
	server.FastForward(rest)
	kept, err := f.Keep(t.Context(), time.Time{})
	require.NoError(t, err)
	require.True(t, kept)
	server.FastForward(time.Hour)
	_, ok, err = f.Latest(t.Context())
	require.NoError(t, err)
	require.False(t, ok, "it is too old")
}

func TestTheRestAdapts(t *testing.T) {
	t.Parallel()
	for took, rest := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 20 * time.Millisecond: 5 * time.Second, 40 * time.Millisecond: 10 * time.Second,
		time.Second: 250 * time.Second, time.Minute: 5 * time.Minute,
	} {
		require.Equal(t, rest, forecast.Rest(took), took)
	}
}

// After a failed count another caller may try soon, and what was kept stays.
func TestAFailedCountFreesTheTurn(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	o := options(t, "1/minute")
	keys := story.KeysOf(o)
	require.NoError(t, server.Set(keys.NearOf(5), "no list"))
	kept, err := newForecasts(t, client, o).Keep(t.Context(), time.Time{})
	require.ErrorContains(t, err, "counting what is due when")
	require.False(t, kept)
	require.Less(t, server.TTL(keys.ForecastTurn()), 5*time.Minute)
	require.NoError(t, server.Set(keys.Forecast(), "{"))
	_, _, err = newForecasts(t, client, o).Latest(t.Context())
	require.ErrorContains(t, err, "reading what is due when")
}
