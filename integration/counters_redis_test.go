package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// An event's limits and counters share a slot with the notices of its alerts. So do a
// key's counters and the notice that they raise.
func TestCountersOnACluster(t *testing.T) {
	client, prefix := redistest.SharedCluster(t).Client(), redistest.Prefix(t)
	limits, err := counters.New(client, prefix)
	require.NoError(t, err)
	events, err := counters.NewEvents(client, prefix)
	require.NoError(t, err)
	outbox, err := notices.New(client, notices.Options{Prefix: prefix})
	require.NoError(t, err)
	for i := range 20 {
		name := fmt.Sprintf("event-%d", i)
		require.NoError(t, events.Set(t.Context(), counters.EventLimits{
			Name: name, PerDay: 1, TimeZone: "Europe/Berlin", AlertAt: []int{100}, AlertTo: "ops@example.com",
		}))
		for _, call := range []counters.Request{
			{Event: name, Key: "alice", Counters: countersOfEveryKind()},
			{Key: name, Counters: countersOfEveryKind(), Alert: &counters.Alert{Counter: "d", At: []int{20}, Kind: "quota"}},
		} {
			d, err := limits.Count(t.Context(), call)
			require.NoError(t, err)
			require.True(t, d.Allowed)
			require.Len(t, d.Notices, 1)
			require.NoError(t, limits.GiveBack(t.Context(), call))
			if call.Event == "" {
				continue
			}
			claim, err := outbox.Claim(t.Context(), d.Notices[0], keyspace.NewToken(), time.Minute, time.Time{})
			require.NoError(t, err)
			require.Equal(t, notices.Send, claim.Verdict)
			details, err := claim.Notice.ParseDetails()
			require.NoError(t, err)
			require.Equal(t, notices.Details{
				TimeZone: "Europe/Berlin", Rule: "1/calendar_day", Until: d.ResetsAt.UnixMilli(),
			}, details)
		}
	}
	all, err := events.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 20)
}

func countersOfEveryKind() []counters.Counter {
	return []counters.Counter{
		{Name: "m", Limit: 5, Period: calendar.Minute},
		{Name: "d", Limit: 5, Period: calendar.Day},
		{Name: "w", Limit: 5, Window: time.Hour},
	}
}
