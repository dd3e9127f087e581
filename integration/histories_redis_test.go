package integration_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
