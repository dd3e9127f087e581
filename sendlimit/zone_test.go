package sendlimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A request that was made for another time zone of the user does nothing, however the zone became
// another one, and costs no further call.
func TestARequestForAnotherZone(t *testing.T) {
	t.Parallel()
	runOnEachStore(t, settingsOptions(t, "1/minute"), func(u *user) {
		in := func(zone string) sendlimit.Request {
			r := u.request("a", "10:00", "")
			r.Zone = zone
			return r
		}
		u.setSettings(policy.UserSettings{TimeZone: "Asia/Tokyo"})
		require.Equal(u, 1, u.calls.During(func() { // this finds out that the user has settings
			_, err := u.timeline.Reserve(u.Context(), in("UTC"))
			require.ErrorIs(u, err, sendlimit.ErrOtherZone)
		}))
		require.Equal(u, "Asia/Tokyo", u.rules.Zone("alice").String())
		require.Zero(u, u.calls.During(func() {
			_, err := u.timeline.Check(u.Context(), in("UTC"))
			require.ErrorIs(u, err, sendlimit.ErrOtherZone)
		}))
		_, err := u.timeline.ReserveMany(u.Context(), []sendlimit.Request{in("UTC"), in("UTC")}[:1])
		require.ErrorIs(u, err, sendlimit.ErrOtherZone)
		require.True(u, u.ask(in("Asia/Tokyo")).Allowed)

		u.setSettings(policy.UserSettings{TimeZone: "Europe/Berlin", Blocked: true})
		move := sendlimit.MoveRequest{User: "alice", ID: "a", At: in("").At.Add(1e9), Generation: keyspace.NewToken(), Zone: "Asia/Tokyo", Now: in("").Now}
		_, err = u.timeline.Move(u.Context(), move)
		require.ErrorIs(u, err, sendlimit.ErrOtherZone)
		require.Equal(u, "Europe/Berlin", u.rules.Zone("alice").String())
		require.NoError(u, u.stored.Set(u.Context(), "alice", policy.UserSettings{TimeZone: "Europe/Berlin"}))
		move.Zone = "Europe/Berlin"
		d, err := u.timeline.Move(u.Context(), move)
		require.NoError(u, err)
		require.True(u, d.Allowed)
	})
}
