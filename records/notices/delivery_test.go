package notices_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A delivery that renews its lease keeps the notice, until it settles or another one has it.
func TestRenew(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	outbox, err := notices.New(client, notices.Options{})
	require.NoError(t, err)
	began := time.UnixMilli(1763769600000)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	id := notices.FormatID(notices.DailyReport, began, 0, "shop")
	_, err = outbox.Put(t.Context(), notices.Notice{ID: id}, at(0))
	require.NoError(t, err)
	first, second := keyspace.NewToken(), keyspace.NewToken()
	claim := func(nonce string, now int) notices.Claim {
		c, err := outbox.Claim(t.Context(), id, nonce, 10*time.Second, at(now))
		require.NoError(t, err)
		return c
	}
	renew := func(nonce string, now int) bool {
		held, err := outbox.Renew(t.Context(), id, nonce, 10*time.Second, at(now))
		require.NoError(t, err)
		return held
	}
	require.False(t, renew(first, 0), "nobody has it yet")
	require.Equal(t, notices.Send, claim(first, 0).Verdict)
	require.True(t, renew(first, 8))
	busy := claim(second, 12)
	require.Equal(t, notices.Busy, busy.Verdict)
	require.True(t, at(18).Equal(busy.Until), busy.Until)
	due, _, err := outbox.Due(t.Context(), at(17), 10)
	require.NoError(t, err)
	require.Empty(t, due, "it is due when the lease ends")
	require.True(t, renew(first, 20), "past the lease, but nobody else has it")
	taken := claim(second, 31)
	require.Equal(t, notices.Send, taken.Verdict)
	require.Equal(t, 2, taken.Attempt, "a renewal is no attempt")
	require.False(t, renew(first, 32))
	settled, err := outbox.Settle(t.Context(), id, second, notices.Settlement{Outcome: notices.Delivered}, at(33))
	require.NoError(t, err)
	require.True(t, settled)
	require.False(t, renew(second, 34), "it ended")

	_, err = outbox.Renew(t.Context(), id, "", time.Second, at(0))
	require.ErrorAs(t, err, new(*fault.InvalidError))
	_, err = outbox.Renew(t.Context(), id, first, 0, at(0))
	require.ErrorAs(t, err, new(*fault.InvalidError))
}

// The store may have been away when the lease ended. So the first delivery may still settle
// while the store answers, for four looks.
func TestADeliverySettlesInTheFairTimeAfterItsLease(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"settles", "renews", "died"} {
		_, client := redistest.Embedded(t)
		outbox, err := notices.New(client, notices.Options{SettleWithin: 4 * time.Second})
		require.NoError(t, err)
		now := time.UnixMilli(1763769600000).UTC()
		id := notices.FormatID(notices.DailyReport, now, 0, "shop")
		_, err = outbox.Put(t.Context(), notices.Notice{ID: id}, now)
		require.NoError(t, err)
		claim := func(nonce string) notices.Claim {
			c, err := outbox.Claim(t.Context(), id, nonce, 10*time.Second, now)
			require.NoError(t, err)
			return c
		}
		require.Equal(t, notices.Send, claim("first").Verdict)
		now = now.Add(time.Minute)
		for range 4 {
			grace := notices.Claim{Verdict: notices.Busy, InGrace: true, Until: now.Add(time.Second), Now: now}
			require.Equal(t, grace, claim(keyspace.NewToken()))
			now = now.Add(999 * time.Millisecond)
			grace.Now = now
			require.Equal(t, grace, claim(keyspace.NewToken()), "no look, so soon after another one")
			now = now.Add(time.Millisecond)
		}
		switch first {
		case "settles":
			held, err := outbox.Settle(t.Context(), id, "first", notices.Settlement{Outcome: notices.Delivered}, now)
			require.NoError(t, err)
			require.True(t, held)
			require.Equal(t, notices.Stale, claim("second").Verdict)
		case "renews":
			held, err := outbox.Renew(t.Context(), id, "first", time.Second, now)
			require.NoError(t, err)
			require.True(t, held)
			now = now.Add(time.Second)
			require.True(t, claim("second").InGrace, "the next lease has a grace period of its own")
		case "died":
			require.True(t, claim("second").TakenOver)
			now = now.Add(10 * time.Second)
			require.True(t, claim("third").InGrace, "the next lease has a grace period of its own")
		}
	}
}

// The outbox and the model agree, also if workers die.
func TestNoticesAgreeWithTheirAccount(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckNotices(t, client, fmt.Sprintf("n%d", histories.Add(1)))
	})
}
