package counters_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func (c counting) set(e counters.EventLimits) {
	c.Helper()
	require.NoError(c, c.events.Set(c.Context(), e))
}

func TestAnEventsLimitsHoldFromTheNextCall(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := counters.Request{Event: "submit", Key: "alice", At: story.At("2050-11-22T11:11:11Z")}
	d := c.accepted(call)
	require.Empty(t, d.Counters, "an event without limits is not limited")
	require.Empty(t, d.Counter)

	c.set(counters.EventLimits{Name: "submit", PerMinute: 2, PerDay: 9})
	d = c.accepted(call)
	require.Equal(t, []counters.Usage{
		{
			Counter: counters.Counter{Name: "minute", Limit: 2, Period: calendar.Minute}, Used: 1,
			From: story.At("2050-11-22T11:11:00Z"), Until: story.At("2050-11-22T11:12:00Z"),
		},
		{
			Counter: counters.Counter{Name: "day", Limit: 9, Period: calendar.Day}, Used: 1,
			From: story.At("2050-11-22T00:00:00Z"), Until: story.At("2050-11-23T00:00:00Z"),
		},
	}, d.Counters)
	c.accepted(call)
	require.Equal(t, "minute", c.refused(call).Counter)

	c.set(counters.EventLimits{Name: "submit", PerMinute: 3})
	require.Equal(t, []int64{3}, c.used(c.accepted(call)), "what was counted stays counted")
	c.refused(call)

	removed, err := c.events.Remove(t.Context(), "submit")
	require.NoError(t, err)
	require.True(t, removed)
	c.accepted(call)
	removed, err = c.events.Remove(t.Context(), "submit")
	require.NoError(t, err)
	require.False(t, removed)
}

// A process that does not know the event's time zone, or knows a former one,
// counts in the right zone in the same call.
func TestPeriodsFollowTheZoneOfTheEvent(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := counters.Request{Event: "submit", Key: "alice", At: story.At("2050-11-22T23:30:00Z")}
	other := counters.New(c.client, keyspace.KeysUnder(""))
	for i, row := range []struct{ zone, until string }{
		{"", "2050-11-23T00:00:00Z"},
		{"Europe/Berlin", "2050-11-23T23:00:00Z"},
		{"Asia/Kolkata", "2050-11-23T18:30:00Z"},
		{"UTC", "2050-11-23T00:00:00Z"},
	} {
		c.set(counters.EventLimits{Name: "submit", PerDay: 99, TimeZone: row.zone})
		for _, counters := range []*counters.Counters{c.counters, other} {
			c.counters = counters
			d := c.accepted(call)
			require.Equal(t, story.At(row.until), d.ResetsAt, row.zone)
			require.NoError(t, c.counters.GiveBack(t.Context(), call))
			require.Equal(t, []int64{1}, c.used(c.accepted(call)), "%d: counted once, given back once", i)
			require.NoError(t, c.counters.GiveBack(t.Context(), call))
		}
	}

	// A newer program may know zones that this one does not know.
	require.NoError(t, c.client.HSet(t.Context(), keyspace.KeysUnder("sl").Event("submit"), "z", "Mars/Olympus").Err())
	_, err := c.counters.Count(t.Context(), call)
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	require.ErrorContains(t, err, `this program does not know the time zone "Mars/Olympus" of event "submit": set another one`)
}

func TestEventsAreListedByName(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	events, err := c.events.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, events)

	submit := counters.EventLimits{Name: "submit", PerMinute: 60, PerHour: 100, PerDay: 500, TimeZone: "Europe/Berlin"}
	login := counters.EventLimits{Name: "login", PerHour: 5, AlertAt: []int{80, 100}, AlertTo: "https://example.com/alerts/secret"}
	c.set(submit)
	c.set(login)
	c.set(counters.EventLimits{Name: "gone", PerHour: 5})
	_, err = c.events.Remove(t.Context(), "gone")
	require.NoError(t, err)
	events, err = c.events.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []counters.EventLimits{login, submit}, events)
	require.Equal(t, "60 per minute, 100 per hour, 500 per day (Europe/Berlin)", submit.String())
	require.Equal(t, "5 per hour, alerts at 80, 100 % to https://example.com/…", login.String())

	// Missing limits and alerts are removed.
	login.AlertAt, login.AlertTo = nil, ""
	c.set(login)
	got, ok, err := c.events.Get(t.Context(), "login")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, login, got)

	_, ok, err = c.events.Get(t.Context(), "gone")
	require.NoError(t, err)
	require.False(t, ok)
}

func TestEventsThatAreInvalid(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for want, e := range map[string]counters.EventLimits{
		`event "" is not allowed: use a name, 1 to 64 of a-z 0-9 _ -`:                          {PerDay: 1},
		`event "a}b" is not allowed: use a name, 1 to 64 of a-z 0-9 _ -`:                       {Name: "a}b", PerDay: 1},
		`event e has no limit: give at least one, per minute, per hour or per day`:             {Name: "e"},
		`per_hour "-1" is not allowed: use 1 to 1000000000000, or 0 for no limit`:              {Name: "e", PerHour: -1},
		`per_day "1000000000001" is not allowed: use 1 to 1000000000000, or 0 for no limit`:    {Name: "e", PerDay: 1_000_000_000_001},
		`time_zone "Mars/Olympus" is not allowed: use an IANA time zone such as Europe/Berlin`: {Name: "e", PerDay: 1, TimeZone: "Mars/Olympus"},
		`time_zone "Local" is not allowed: use an IANA time zone such as Europe/Berlin`:        {Name: "e", PerDay: 1, TimeZone: "Local"},
		`alert_at "0 80" is not allowed: use percents of 1 to 100, ascending, such as 80 and 100`: {
			Name: "e", PerDay: 1, AlertAt: []int{0, 80}, AlertTo: "ops@example.com",
		},
		`alert_at "80 80" is not allowed: use percents of 1 to 100, ascending, such as 80 and 100`: {
			Name: "e", PerDay: 1, AlertAt: []int{80, 80}, AlertTo: "ops@example.com",
		},
		`alert_at "101" is not allowed: use percents of 1 to 100, ascending, such as 80 and 100`: {
			Name: "e", PerDay: 1, AlertAt: []int{101}, AlertTo: "ops@example.com",
		},
		`alert_at is required with alert_to: give percents of 1 to 100, such as 80 and 100`: {
			Name: "e", PerDay: 1, AlertTo: "ops@example.com",
		},
		`alert_to is required with alert_at: give an e-mail address or an https: URL`: {
			Name: "e", PerDay: 1, AlertAt: []int{80},
		},
		`alert_to "ops" is not allowed: use one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts`: {
			Name: "e", PerDay: 1, AlertAt: []int{80}, AlertTo: "ops",
		},
		`event "` + "e\x00" + `" is not allowed: use a name, 1 to 64 of a-z 0-9 _ -`: {Name: "e\x00", PerDay: 1},
	} {
		err := c.events.Set(t.Context(), e)
		require.ErrorAs(t, err, new(*fault.InvalidError), want)
		if e.Name != "e\x00" {
			require.EqualError(t, err, want)
		}
	}
	for _, name := range []string{"", "A"} {
		_, _, err := c.events.Get(t.Context(), name)
		require.Error(t, err)
		_, err = c.events.Remove(t.Context(), name)
		require.Error(t, err)
	}
}

func TestAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for _, percents := range []string{"x", "80 80", "0", ""} { // "" has alert_to alone
		fields := []any{"c", "5 -3", "a", percents, "t", "ops@example.com"}
		require.NoError(t, c.client.HSet(t.Context(), keyspace.KeysUnder("sl").Event("e"), fields...).Err())
		_, _, err := c.events.Get(t.Context(), "e")
		require.ErrorAs(t, err, new(*fault.UnavailableError), percents)
	}
	for _, limits := range []string{"x -1", "5", "5 -4", "5 90000", "0 -1", ""} {
		require.NoError(t, c.client.HSet(t.Context(), keyspace.KeysUnder("sl").Event("e"), "c", limits).Err())
		_, _, err := c.events.Get(t.Context(), "e")
		require.ErrorAs(t, err, new(*fault.UnavailableError), limits)
	}
}

func TestCountersWithoutAStore(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	limits := counters.New(client, keyspace.KeysUnder(""))
	events := counters.NewEvents(client, keyspace.KeysUnder(""))
	call := counters.Request{Key: "alice", Counters: naturalCounters(1)}
	_, counting := limits.Count(t.Context(), call)
	_, removing := events.Remove(t.Context(), "e")
	_, _, looking := events.Get(t.Context(), "e")
	_, listing := events.List(t.Context())
	for _, err := range []error{
		counting, removing, looking, listing,
		limits.GiveBack(t.Context(), call), events.Set(t.Context(), counters.EventLimits{Name: "e", PerDay: 1}),
	} {
		require.ErrorAs(t, err, new(*fault.UnavailableError))
	}
	require.Equal(t, "5 in 1m30s", counters.Counter{Limit: 5, Window: 90 * time.Second}.String())
}

// Pages have the events by name. Those whose limits were removed leave a shorter page.
func TestPagesOfEvents(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	for _, name := range []string{"c", "a", "b"} {
		c.set(counters.EventLimits{Name: name, PerDay: 1})
	}
	_, err := c.events.Remove(t.Context(), "b")
	require.NoError(t, err)
	for _, page := range []struct {
		after string
		limit int
		names []string
		next  string
	}{
		{"", 1, []string{"a"}, "a"}, {"a", 1, []string{}, "b"}, {"b", 1, []string{"c"}, ""}, {"", 3, []string{"a", "c"}, ""}, {"c", 3, []string{}, ""},
	} {
		events, next, err := c.events.Page(t.Context(), page.after, page.limit)
		require.NoError(t, err)
		names := []string{}
		for _, e := range events {
			names = append(names, e.Name)
		}
		require.Equal(t, page.names, names, page)
		require.Equal(t, page.next, next, page)
	}
}
