package sendlimit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
)

// An unreadable value in the store is not invalid input of the caller: the
// error's chain must not have an InvalidError.
func TestWhatCantBeReadIsNotInvalid(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), keys.Policy("vip"), `{"name":"vip","rules":["1/moon"]}`, 0).Err())
	_, _, policyErr := policies.Load(t.Context(), "vip")
	settings, err := settings.NewUsers(client, "")
	require.NoError(t, err)
	require.NoError(t, client.HSet(t.Context(), keys.Settings("alice"), "v", "1", "zone", "Mars/Olympus").Err())
	_, settingsErr := settings.Get(t.Context(), "alice")
	require.ErrorIs(t, settingsErr, policy.ErrUnreadableSettings)
	events, err := counters.NewEvents(client, "")
	require.NoError(t, err)
	require.NoError(t, client.HSet(t.Context(), keys.Event("submit"), "c", "5 -1", "z", "Mars/Olympus").Err())
	_, _, eventErr := events.Get(t.Context(), "submit")
	for _, err := range []error{policyErr, settingsErr, eventErr} {
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(t, away, "%v", err)
		_, invalid := errors.AsType[*fault.InvalidError](err)
		require.False(t, invalid, "%v", err)
	}
}
