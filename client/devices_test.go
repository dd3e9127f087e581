package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestDevicesOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	list, err := c.Devices(t.Context(), "alice")
	require.NoError(t, err)
	require.Empty(t, list.Devices)
	draft := client.DeviceDraft{ID: "phone", Channel: "fcm", Token: "canary", Locale: "de"}
	for _, outcome := range []string{client.DeviceAdded, client.DeviceUnchanged} {
		change, err := c.AddDevice(t.Context(), "alice", draft)
		require.NoError(t, err)
		require.Equal(t, outcome, change.Outcome)
	}
	draft.Locale = "pt"
	change, err := c.AddDevice(t.Context(), "alice", draft)
	require.NoError(t, err)
	require.Equal(t, client.DeviceReplaced, change.Outcome)
	list, err = c.Devices(t.Context(), "alice")
	require.NoError(t, err)
	change.Device.Address = "canary" // this server asks for no keys, and shows all
	require.Equal(t, client.DeviceList{User: "alice", Devices: []client.Device{change.Device}}, list)

	_, err = c.AddDevice(t.Context(), "alice", client.DeviceDraft{Channel: "apns", Token: "canary"})
	var invalid *client.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "token", invalid.Field)
	require.NotContains(t, err.Error(), "canary")

	removal, err := c.RemoveDevice(t.Context(), "alice", "phone")
	require.NoError(t, err)
	require.Equal(t, client.DeviceRemoval{Outcome: "removed", User: "alice", Device: "phone"}, removal)
	_, err = c.RemoveDevice(t.Context(), "alice", "phone")
	require.ErrorIs(t, err, client.ErrNotFound)
	for _, missing := range []func() error{
		func() error { _, err := c.RemoveDevice(t.Context(), "alice", ""); return err },
		func() error { _, err := c.Devices(t.Context(), ""); return err },
	} {
		require.ErrorAs(t, missing(), &invalid)
	}
}
