package messages_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A campaign ends once, for as long as a message may be scheduled ahead, until it is reopened.
func TestACampaignEndsOnce(t *testing.T) {
	_, client := redistest.Embedded(t)
	ends := messages.NewEnds(client, keyspace.KeysUnder(""))
	spring, autumn := messages.Campaign{Account: "acme", Name: "spring"}, messages.Campaign{Account: "acme", Name: "autumn"}
	since := func(c messages.Campaign) time.Time {
		t.Helper()
		at, err := ends.Since(t.Context(), c)
		require.NoError(t, err)
		return at
	}
	require.Zero(t, since(spring))
	first, err := ends.End(t.Context(), spring)
	require.NoError(t, err)
	require.NotZero(t, first)
	again, err := ends.End(t.Context(), spring)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, first, since(spring))
	require.Zero(t, since(autumn))
	require.Zero(t, since(messages.Campaign{Name: "spring"}), "it is another account's")
	left, err := client.PTTL(t.Context(), "sl:ended:acme/spring").Result()
	require.NoError(t, err)
	require.InDelta(t, policy.DefaultReach, left, float64(time.Minute))
	for _, was := range []bool{true, false} {
		got, err := ends.Reopen(t.Context(), spring)
		require.NoError(t, err)
		require.Equal(t, was, got)
		require.Zero(t, since(spring))
	}
	_, err = ends.End(t.Context(), messages.Campaign{Name: "a b"})
	require.ErrorAs(t, err, new(*fault.InvalidError))
}
