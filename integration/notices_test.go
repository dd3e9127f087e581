package integration_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The outbox and the model of notices agree on a real Redis, on the embedded store, and
// on a cluster.
func TestNoticeHistoriesOnRedis(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t)
	checkFor(t, 4*time.Second, "n", func(t *rapid.T, prefix string) {
		sendlimittest.CheckNotices(t, server.Client(), prefix)
	})
}

func TestNoticeHistoriesOnACluster(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	cluster := redistest.RealCluster(t)
	var client redis.UniversalClient = cluster.Client()
	checkFor(t, 3*time.Second, "n", func(t *rapid.T, prefix string) { sendlimittest.CheckNotices(t, client, prefix) })
}

// Many workers put the same digest and claim the same notice at once: only one
// succeeds.
func TestOfManyWorkersOneHasANotice(t *testing.T) {
	server := redistest.Real(t)
	outbox, err := notices.New(server.Client(), notices.Options{})
	require.NoError(t, err)
	id := notices.FormatID(notices.DailyReport, time.UnixMilli(0), 0, "shop")
	var mu sync.Mutex
	put, sends := 0, 0
	var workers sync.WaitGroup
	for range 100 {
		workers.Go(func() {
			first, err := outbox.Put(t.Context(), notices.Notice{ID: id}, time.Time{})
			claim, claimErr := outbox.Claim(t.Context(), id, keyspace.NewToken(), time.Minute, time.Time{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil && first {
				put++
			}
			if claimErr == nil && claim.Verdict == notices.Send {
				sends++
			}
		})
	}
	workers.Wait()
	require.Equal(t, 1, put)
	require.Equal(t, 1, sends)
}
