package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

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
		found, err := p.watch.HandOver(p.Context(), []sendlimit.Timer{entry}, p.now)
		require.NoError(p, err)
		require.NoError(p, p.watch.Confirm(p.Context(), found.Soon))
	}
}

// want is the forecast, counted plainly.
func (p *planner) want() forecast.Forecast {
	f := forecast.Forecast{At: p.now, HeatAt: p.now, Minutes: make([]int, 60), Hours: make([]int, 24)}
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

// count counts both parts.
func count(t *testing.T, f *forecast.Forecasts, now time.Time) forecast.Forecast {
	t.Helper()
	near, err := f.CountNear(t.Context(), now)
	require.NoError(t, err)
	later, err := f.CountLater(t.Context(), near.At)
	require.NoError(t, err)
	near.Took = 0
	return near.WithLater(later)
}

// hours returns the hours of a heat map from a time on until another one; zero is no bound.
func hours(heat []forecast.HourCount, from, until time.Time) (some []forecast.HourCount) {
	for _, h := range heat {
		if !h.Start.Before(from) && (until.IsZero() || h.Start.Before(until)) {
			some = append(some, h)
		}
	}
	return some
}

// countApart counts what is near, and joins it with later hours that were counted before.
func (p *planner) countApart(forecasts *forecast.Forecasts, later forecast.Later, then forecast.Forecast) {
	p.Helper()
	near, err := forecasts.CountNear(p.Context(), p.now)
	require.NoError(p, err)
	want := p.want()
	want.HeatAt, near.Took = time.Time{}, 0
	want.Heat = hours(want.Heat, time.Time{}, want.End())
	require.Equal(p, want, near)
	want.HeatAt = then.At
	want.Heat = append(want.Heat, hours(then.Heat, want.End(), time.Time{})...)
	require.Equal(p, want, near.WithLater(later))
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
	later, then := forecast.Later{At: from}, forecast.Forecast{At: from}
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
			require.Equal(t, p.want(), count(t, forecasts, p.now), "seed %d, step %d", seed, n)
			p.countApart(forecasts, later, then)
		}
		if p.random.IntN(3) == 0 {
			then = p.want()
			later, err = forecasts.CountLater(t.Context(), p.now)
			require.NoError(t, err)
		}
	}
}
