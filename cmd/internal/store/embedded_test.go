package store_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func startEmbedded(t *testing.T) *store.Embedded {
	t.Helper()
	embedded, err := store.StartEmbedded(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(embedded.Close)
	return embedded
}

func TestEmbeddedStoreServes(t *testing.T) {
	t.Parallel()
	embedded := startEmbedded(t)
	client := open(t, embedded.URL())
	report, err := store.Inspect(t.Context(), client)
	require.NoError(t, err)
	require.Empty(t, report.Warnings)
	require.NoError(t, report.RefuseEviction())

	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	embedded.Close()
	embedded.Close()
	_, err = store.Inspect(t.Context(), open(t, embedded.URL()))
	require.Contains(t, unavailable(t, err), "connection refused")
}

func TestEmbeddedStoreExpiresKeysByTheClock(t *testing.T) {
	t.Parallel()
	client := open(t, startEmbedded(t).URL())
	begun := time.Now()
	require.NoError(t, client.Set(t.Context(), "short", "v", time.Second).Err())
	require.NoError(t, client.Set(t.Context(), "long", "v", time.Minute).Err())
	require.Eventually(t, func() bool {
		return errors.Is(client.Get(t.Context(), "short").Err(), redis.Nil)
	}, time.Minute, 10*time.Millisecond)
	require.InDelta(t, 1, time.Since(begun).Seconds(), 0.6)
	left, err := client.PTTL(t.Context(), "long").Result()
	require.NoError(t, err)
	require.InDelta(t, (time.Minute - time.Since(begun)).Seconds(), left.Seconds(), 0.6)
}

func TestEmbeddedAddressTaken(t *testing.T) {
	t.Parallel()
	first := startEmbedded(t)
	_, port, err := net.SplitHostPort(first.Address())
	require.NoError(t, err)
	_, err = store.StartEmbedded(t.Context(), first.Address())
	require.Equal(t, "port "+port+" is taken by a Redis or by another worker's embedded store:"+
		" share it with REDIS_URL=redis://"+first.Address()+", or choose another port with --embedded-address", unavailable(t, err))

	locked, _ := redistest.Embedded(t)
	locked.RequireAuth("secret")
	_, err = store.StartEmbedded(t.Context(), locked.Addr())
	require.Contains(t, unavailable(t, err), "is taken by a Redis", "one that wants a password is one too")

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, err = store.StartEmbedded(t.Context(), listener.Addr().String())
	require.Contains(t, unavailable(t, err), "is taken by another program: choose another one with --embedded-address")
}

func TestEmbeddedAddressThatIsNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1", "256.0.0.1:1", "127.0.0.1:99999"} {
		_, err := store.StartEmbedded(t.Context(), address)
		require.ErrorContains(t, err, "starting the embedded store")
	}
}
