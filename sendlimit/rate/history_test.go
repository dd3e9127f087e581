package rate_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and a plain list give the same answers to random histories.
func TestPermitsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckPermits(t, client, fmt.Sprintf("p%d", histories.Add(1)))
	})
}

// The scripts and a fraction give the same answers to random histories.
func TestTokenBucketsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckTokenBucket(t, client, fmt.Sprintf("t%d", histories.Add(1)))
	})
}

// The client repeats a call whose reply was lost: what it gives back is given back once.
func TestGiveBacksWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Embedded(t)
	client, lose := redistest.LosingReplies(t, server.Addr())
	now := time.Date(2050, 11, 22, 11, 11, 11, 0, time.UTC)
	perHour := rate.Rate{Count: 10, Interval: time.Hour}

	bucket, err := rate.NewTokenBucket(client, rate.TokenBucketOptions{Rate: perHour})
	require.NoError(t, err)
	giveBack := func() int64 {
		g, err := bucket.GiveBack(t.Context(), rate.TokenRequest{Key: "alice", Tokens: 2, Now: now})
		require.NoError(t, err)
		return g.Remaining
	}
	_, err = bucket.Take(t.Context(), rate.TokenRequest{Key: "alice", Tokens: 10, Now: now})
	require.NoError(t, err)
	require.Equal(t, int64(2), giveBack())
	lose.Store(true)
	require.Equal(t, int64(4), giveBack())
	require.False(t, lose.Load(), "a reply was lost")
	require.Equal(t, int64(6), giveBack(), "another call is another one")

	permits, err := rate.NewPermits(client, rate.PermitsOptions{Name: "p"})
	require.NoError(t, err)
	require.NoError(t, permits.SetRate(t.Context(), rate.PermitRate{Rate: perHour}))
	token := keyspace.NewToken()
	_, err = permits.Acquire(t.Context(), rate.PermitRequest{Token: token, Permits: 10, Now: now})
	require.NoError(t, err)
	lose.Store(true)
	_, err = permits.GiveBack(t.Context(), token)
	require.NoError(t, err)
	level, err := permits.Peek(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, int64(10), level.Available)
}
