package integration_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and the model give the same answers to any history, on a real Redis, on
// the embedded store, and on a cluster, where a script that used keys of two slots
// would fail.
func TestTimelineHistoriesOnRedis(t *testing.T) {
	sendlimittest.Long(t)
	server := redistest.Real(t)
	var compared atomic.Int64
	t.Cleanup(func() { t.Logf("%d decisions compared with forbidden times", compared.Load()) })
	for name, check := range map[string]func(t *rapid.T, client redis.UniversalClient, prefix string){
		"places": sendlimittest.CheckHistory, "messages": sendlimittest.CheckMessages, "backlogs": sendlimittest.CheckBacklog,
		"crowds": sendlimittest.CheckCrowd,
		"forbidden": func(t *rapid.T, client redis.UniversalClient, prefix string) {
			compared.Add(int64(sendlimittest.CheckForbidden(t, client, prefix)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkFor(t, 14*time.Second, name, func(t *rapid.T, prefix string) { check(t, server.Client(), prefix) })
		})
	}
}

func TestTimelineHistoriesOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	var client redis.UniversalClient = cluster.Client()
	checkFor(t, 5*time.Second, "h", func(t *rapid.T, prefix string) { sendlimittest.CheckHistory(t, client, prefix) })
	checkFor(t, 3*time.Second, "f", func(t *rapid.T, prefix string) { sendlimittest.CheckForbidden(t, client, prefix) })
	checkFor(t, 4*time.Second, "m", func(t *rapid.T, prefix string) { sendlimittest.CheckMessages(t, client, prefix) })
}

// checkFor runs rounds of rapid until the time is over. Each round has its own seed,
// which a failure names, unless -rapid.seed sets one.
func checkFor(t *testing.T, budget time.Duration, prefix string, check func(t *rapid.T, prefix string)) {
	t.Helper()
	histories := 0
	for end := time.Now().Add(budget); time.Now().Before(end); {
		rapid.Check(t, func(t *rapid.T) {
			histories++
			check(t, fmt.Sprintf("%s%d", prefix, histories))
		})
	}
	t.Logf("%d histories in %s", histories, budget)
}
