package integration_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The store is killed several times under load, and recovers from its append-only file.
// The worker and the callers survive, so nothing is in doubt: everything that was
// accepted arrives once, at its time or later, and what was cancelled never arrives.
func TestRedisKilledUnderLoad(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	server := redistest.Real(t, "--appendonly", "yes", "--appendfsync", "always")
	l := newLoad(t, server, "3/1s", "8/5s")
	l.work(server.Addr, l.receiver.URL())
	l.work(server.Addr, l.receiver.URL())
	stop := l.call(server.Addr, 6)
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		time.Sleep(1500*time.Millisecond + time.Duration(random.Int64N(int64(time.Second))))
		server.Kill()
		time.Sleep(100*time.Millisecond + time.Duration(random.Int64N(int64(time.Second))))
		require.NoError(t, server.Restart(t.Context()))
	}
	time.Sleep(time.Second)
	l.awaitRequests(100)
	stop()
	l.settle(40 * time.Second)
	require.Positive(t, l.again, "nobody noticed")
}
