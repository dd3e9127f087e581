package integration_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// historyRoundsEnv is how many rounds of histories are compared.
const historyRoundsEnv = "SENDLIMIT_TEST_HISTORY_ROUNDS"

// history compares scripts with their model in one random history.
type history func(t *rapid.T, client redis.UniversalClient, prefix string)

// historyKinds are the histories of each kind, and how many of them are a round: fewer of those
// that take long.
func historyKinds() map[string]struct {
	check history
	round int64
} {
	plain := func(check func(t *rapid.T, client redis.Cmdable, prefix string)) history {
		return func(t *rapid.T, client redis.UniversalClient, prefix string) { check(t, client, prefix) }
	}
	forbidden := func(t *rapid.T, client redis.UniversalClient, prefix string) {
		sendlimittest.CheckForbidden(t, client, prefix)
	}
	return map[string]struct {
		check history
		round int64
	}{
		"places": {sendlimittest.CheckHistory, 100}, "forbidden": {forbidden, 100}, "crowds": {sendlimittest.CheckCrowd, 8},
		"messages": {sendlimittest.CheckMessages, 10}, "backlogs": {sendlimittest.CheckBacklog, 5},
		"alerts": {sendlimittest.CheckAlerts, 100}, "notices": {sendlimittest.CheckNotices, 50},
		"counters": {plain(sendlimittest.CheckCounters), 50},
		"permits":  {plain(sendlimittest.CheckPermits), 100}, "tokens": {plain(sendlimittest.CheckTokenBucket), 100},
	}
}

// The scripts and the models give the same answers to any history on a real Redis, as they do
// on the embedded store.
func TestHistoriesOnRedis(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for kind, of := range historyKinds() {
		t.Run(kind, func(t *testing.T) { checkHistories(t, redistest.Shared(t).Client(), of.check, of.round) })
	}
}

// And on a cluster, where a script that used keys of two slots would fail.
func TestHistoriesOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	client := redistest.SharedCluster(t).Client()
	for kind, of := range historyKinds() {
		if kind != "counters" { // they look for keys, which a client of a cluster does on one master only
			t.Run(kind, func(t *testing.T) { checkHistories(t, client, of.check, of.round/5) })
		}
	}
}

// checkHistories compares rounds of histories. Each round has its own seed, which a failure
// names, unless -rapid.seed sets one.
func checkHistories(t *testing.T, client redis.UniversalClient, check history, round int64) {
	t.Helper()
	rounds := 1
	if text := os.Getenv(historyRoundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for range rounds {
		prefix := redistest.Prefix(t)
		histories, failed := int64(0), false
		rapid.Check(t, func(t *rapid.T) {
			histories++
			if histories > round && !failed { // rapid makes a hundred, and smaller ones after a failure
				return
			}
			ended := false
			defer func() { failed = failed || !ended }()
			check(t, client, fmt.Sprintf("%s-%d", prefix, histories))
			ended = true
		})
	}
}

// An event's limits and counters share a slot with the notices of its alerts. So do a
// key's counters and the notice that they raise.
func TestCountersOnACluster(t *testing.T) {
	client, prefix := redistest.SharedCluster(t).Client(), redistest.Prefix(t)
	limits := counters.New(client, keyspace.KeysUnder(prefix))
	events := counters.NewEvents(client, keyspace.KeysUnder(prefix))
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
