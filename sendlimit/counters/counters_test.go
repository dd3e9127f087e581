package counters_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// counting is a test with counters. Its clock is ahead of the server's, so
// nothing expires.
type counting struct {
	*testing.T

	client   *redis.Client
	counters *counters.Counters
	events   *counters.Events
}

func newCounting(t *testing.T) counting {
	t.Helper()
	_, client := redistest.Embedded(t)
	limits := counters.New(client, keyspace.KeysUnder(""))
	events := counters.NewEvents(client, keyspace.KeysUnder(""))
	return counting{t, client, limits, events}
}

func (c counting) count(r counters.Request) counters.Decision {
	c.Helper()
	d, err := c.counters.Count(c.Context(), r)
	require.NoError(c, err)
	return d
}

func (c counting) accepted(r counters.Request) counters.Decision {
	c.Helper()
	d := c.count(r)
	require.True(c, d.Allowed, "%+v", d)
	require.Empty(c, d.Code)
	require.Zero(c, d.RetryAfter)
	return d
}

func (c counting) refused(r counters.Request) counters.Decision {
	c.Helper()
	d := c.count(r)
	require.False(c, d.Allowed, "%+v", d)
	require.Equal(c, fault.CodeRateLimited, d.Code)
	return d
}

func (c counting) used(d counters.Decision) []int64 {
	c.Helper()
	var used []int64
	for _, u := range d.Counters {
		used = append(used, u.Used)
	}
	return used
}

func naturalCounters(limits ...int64) []counters.Counter {
	all := []counters.Counter{
		{Name: "m", Period: calendar.Minute}, {Name: "h", Period: calendar.Hour}, {Name: "d", Period: calendar.Day},
	}
	for i, limit := range limits {
		all[i].Limit = limit
	}
	return all[:len(limits)]
}

func TestMoreThanALimitIsInvalid(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := counters.Request{Key: "alice", N: 4, At: story.At("2050-11-22T11:11:11Z"), Counters: naturalCounters(9, 3)}
	_, err := c.counters.Count(t.Context(), call)
	require.EqualError(t, err, `n "4" is not allowed: use at most 3: counter h allows 3 per hour`)
	call.N = 3
	require.Equal(t, []int64{3, 3}, c.used(c.accepted(call)), "nothing was charged before")

	require.NoError(t, c.events.Set(t.Context(), counters.EventLimits{Name: "submit", PerDay: 2}))
	_, err = c.counters.Count(t.Context(), counters.Request{Event: "submit", Key: "alice", N: 3})
	require.EqualError(t, err, `n "3" is not allowed: use at most 2: counter day allows 2 per day`)
}

func TestNoPeriodReachesIntoTheNext(t *testing.T) {
	t.Parallel()
	for _, counter := range []counters.Counter{
		{Name: "m", Limit: 1, Period: calendar.Minute},
		{Name: "w", Limit: 1, Window: 1500 * time.Millisecond},
	} {
		c := newCounting(t)
		call := counters.Request{Key: "alice", At: story.At("2050-11-22T11:11:11.250Z"), Counters: []counters.Counter{counter}}
		reset := c.accepted(call).ResetsAt
		keys := c.client.Keys(t.Context(), "*:count:alice:*").Val()
		require.Len(t, keys, 1)
		// The embedded store keeps the remaining time by a clock that runs.
		expires := time.UnixMilli(c.client.PExpireTime(t.Context(), keys[0]).Val().Milliseconds())
		require.WithinDuration(t, reset, expires, time.Minute, "the key goes with its period")
		call.At = reset.Add(-time.Millisecond)
		d := c.refused(call)
		require.Equal(t, time.Millisecond, d.RetryAfter)
		require.Equal(t, reset, d.ResetsAt, "a window does not grow when it is used")
		call.At = reset
		c.accepted(call)
	}
}

func TestTheServersClockDecides(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	limits := counters.New(client, keyspace.KeysUnder(""))
	now := story.At("2050-11-22T11:11:59.999Z")
	server.SetTime(now)
	c := counting{T: t, client: client, counters: limits}
	call := counters.Request{Key: "alice", Counters: naturalCounters(1)}
	require.Equal(t, now, c.accepted(call).Now)
	require.Equal(t, time.Millisecond, c.refused(call).RetryAfter)
	server.SetTime(now.Add(time.Millisecond))
	c.accepted(call)
}

func TestConcurrentCallersNeverExceedALimit(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := counters.Request{Key: "alice", At: story.At("2050-11-22T11:11:11Z"), Counters: naturalCounters(30, 17)}
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for range 1000 {
		callers.Go(func() {
			if d, err := c.counters.Count(t.Context(), call); err == nil && d.Allowed {
				allowed.Add(1)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 17, allowed.Load())
	require.Equal(t, []int64{17, 17}, c.used(c.refused(call)))
}

func TestGivingBackUndoesACount(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := counters.Request{
		Key: "alice", At: story.At("2050-11-22T11:59:59Z"), N: 2,
		Counters: append(naturalCounters(5, 5), counters.Counter{Name: "w", Limit: 5, Window: 3 * time.Second}),
	}
	giveBack := func(r counters.Request) {
		require.NoError(t, c.counters.GiveBack(t.Context(), r))
	}
	giveBack(call)
	keys, err := c.client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "what was never counted leaves nothing behind")

	counted := c.accepted(call)
	later := call
	later.At = call.At.Add(2 * time.Second)
	require.Equal(t, []int64{2, 2, 4}, c.used(c.accepted(later)), "another hour, the same window")

	call.At = counted.Now
	giveBack(call)
	require.Equal(t, []int64{4, 4, 4}, c.used(c.accepted(later)), "in the periods that it was counted in")

	call.N = 100
	giveBack(call)
	call.N = 1
	require.Equal(t, []int64{1, 1, 1}, c.used(c.accepted(call)), "never below zero")

	// A window that began later is not affected.
	next := call
	next.At = call.At.Add(2 * time.Hour)
	require.Equal(t, []int64{1, 1, 1}, c.used(c.accepted(next)))
	giveBack(call)
	require.Equal(t, []int64{2, 2, 2}, c.used(c.accepted(next)))
}

func TestCountRequestsThatAreInvalid(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	one := naturalCounters(1)
	for _, row := range []struct {
		request counters.Request
		want    string
	}{
		{counters.Request{Counters: one}, `key "" is not allowed: use 1 to 256 bytes of UTF-8 without control characters`},
		{counters.Request{Key: "a\nb", Counters: one}, `key "a\nb" is not allowed: use 1 to 256 bytes of UTF-8 without control characters`},
		{counters.Request{Key: "a", N: -1, Counters: one}, `n "-1" is not allowed: use at least 1`},
		{counters.Request{Key: "a", At: time.Unix(-9, 0), Counters: one}, `at "1969-12-31T23:59:51Z" is not allowed: use a time of the years 1970 to 9999`},
		{counters.Request{Key: "a"}, `counters "[]" is not allowed: use at least one counter, or an event`},
		{counters.Request{Key: "a", Counters: make([]counters.Counter, 17)}, `counters "17" is not allowed: use at most 16 counters`},
		{counters.Request{Key: "a", Event: "A"}, `event "A" is not allowed: use a name, 1 to 64 of a-z 0-9 _ -`},
		{counters.Request{Key: "a", Event: "e", TimeZone: "UTC"}, `time_zone "UTC" is not allowed: use none with an event: its own time zone is used`},
		{counters.Request{Key: "a", TimeZone: "Mars/Olympus", Counters: one}, `time_zone "Mars/Olympus" is not allowed: use an IANA time zone such as Europe/Berlin`},
		{counters.Request{Key: "a", Counters: append(one, one...)}, `counter "m" is not allowed: use a name that no other counter of the call has; minute, hour and day are the event's`},
		{
			counters.Request{Key: "a", Event: "e", Counters: []counters.Counter{{Name: "day", Limit: 1, Period: calendar.Day}}},
			`counter "day" is not allowed: use a name that no other counter of the call has; minute, hour and day are the event's`,
		},
		{counters.Request{Key: "a", Counters: []counters.Counter{{Limit: 1, Period: calendar.Day}}}, `counter "" is not allowed: use a name, 1 to 64 of a-z 0-9 _ -`},
		{counters.Request{Key: "a", Counters: []counters.Counter{{Name: "c", Period: calendar.Day}}}, `counter "c" is not allowed: use a limit of 1 to 1000000000000, not 0`},
		{counters.Request{Key: "a", Counters: []counters.Counter{{Name: "c", Limit: 1}}}, `counter "c" is not allowed: use either a natural period or a window`},
		{
			counters.Request{Key: "a", Counters: []counters.Counter{{Name: "c", Limit: 1, Period: calendar.Day, Window: time.Second}}},
			`counter "c" is not allowed: use either a natural period or a window`,
		},
		{
			counters.Request{Key: "a", Counters: []counters.Counter{{Name: "c", Limit: 1, Window: time.Microsecond}}},
			`counter "c" is not allowed: use a window of whole milliseconds, up to 366 days, not 1µs`,
		},
		{
			counters.Request{Key: "a", Event: "e", Counters: one, Alert: &counters.Alert{Counter: "m"}},
			`alert "m" is not allowed: use a call without an event: an event has its own alert_at and alert_to`,
		},
		{
			counters.Request{Key: "a", Counters: one, Alert: &counters.Alert{Counter: "x"}},
			`alert.counter "x" is not allowed: use the name of one of the call's own counters`,
		},
		{
			counters.Request{Key: "a", Counters: one, Alert: &counters.Alert{Counter: "m"}},
			`alert.kind "" is not allowed: use 1 to 64 of a-z 0-9 _ -`,
		},
		{
			counters.Request{Key: "a", Counters: one, Alert: &counters.Alert{Counter: "m", Kind: "k"}},
			`alert.at "[]" is not allowed: use percents, such as 80, 100`,
		},
		{
			counters.Request{Key: "a", Counters: one, Alert: &counters.Alert{Counter: "m", Kind: "k", At: []int{80, 80}}},
			`alert.at "80" is not allowed: use percents of 1 to 100, ascending`,
		},
	} {
		_, err := c.counters.Count(t.Context(), row.request)
		require.EqualError(t, err, row.want)
		require.ErrorAs(t, err, new(*fault.InvalidError))
	}
	keys, err := c.client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)
}
