package integration_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Many workers put the same digest and claim the same notice at once: only one
// succeeds.
func TestOfManyWorkersOneHasANotice(t *testing.T) {
	server := redistest.Shared(t)
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
