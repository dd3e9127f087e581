package device_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/device"
)

const subscription = `{"endpoint":"https://push.example.net/canary","expirationTime":null,"keys":{"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`

func TestADraftIsCompleted(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("a", 64)
	d, err := device.Parse(message.DeviceDraft{ID: "phone", Channel: devices.APNs, Token: strings.ToUpper(token), App: "shop", Locale: "de"}, "acme", nil)
	require.NoError(t, err)
	require.Equal(t, devices.Device{ID: "phone", Channel: devices.APNs, Address: token, App: "shop", Locale: "de", Account: "acme"}, d)
	d.RegisteredAt = time.UnixMilli(1000)
	shown := device.Shown(d, false)
	require.Equal(t, message.Device{
		ID: "phone", Channel: "apns", Address: "…aaaaaa", App: "shop", Locale: "de", Account: "acme", RegisteredAt: message.Time{Time: d.RegisteredAt},
	}, shown)
	require.Equal(t, token, device.Shown(d, true).Address)

	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(subscription), &members))
	web, err := device.Parse(message.DeviceDraft{Channel: devices.WebPush, Subscription: members}, "", nil)
	require.NoError(t, err)
	require.Equal(t, []string{strings.Replace(subscription, `"expirationTime":null,`, "", 1)}, []string{web.Address}, "in the one spelling")
	require.Len(t, web.ID, 12)
}

// A check refuses what the channel would not deliver to.
func TestACheckOfTheAddress(t *testing.T) {
	t.Parallel()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(subscription), &members))
	_, err := device.Parse(message.DeviceDraft{Channel: devices.WebPush, Subscription: members}, "", func(channel, address string) error {
		require.Equal(t, devices.WebPush, channel)
		require.Contains(t, address, "canary")
		return &fault.InvalidError{Field: "address", Value: "push.example.net", Want: "another one"}
	})
	require.EqualError(t, err, "subscription is not valid: it must be another one")
}

// What is wrong is said of the field that the caller gave, and no address is in it.
func TestDraftsThatAreRefused(t *testing.T) {
	t.Parallel()
	const endpoint = "an endpoint that is an https: URL without user, password and fragment"
	some, many := map[string]any{"endpoint": "canary"}, map[string]any{}
	for i := range message.MaxSubscription + 1 {
		many[strings.Repeat("x", i)] = "canary"
	}
	for _, row := range []struct {
		draft       message.DeviceDraft
		field, says string
	}{
		{message.DeviceDraft{}, "channel", `channel "" is not allowed: use fcm, apns or webpush`},
		{message.DeviceDraft{Channel: "sms", Token: "canary"}, "channel", `channel "sms" is not allowed: use fcm, apns or webpush`},
		{message.DeviceDraft{Channel: "fcm"}, "token", "token is required with the channel fcm"},
		{message.DeviceDraft{Channel: "webpush"}, "subscription", "subscription is required with the channel webpush"},
		{message.DeviceDraft{Channel: "webpush", Token: "canary"}, "token", "a device of webpush has no token: give its subscription"},
		{message.DeviceDraft{Channel: "fcm", Subscription: some}, "subscription", "a device of fcm has no subscription: give its token"},
		{message.DeviceDraft{Channel: "webpush", Subscription: many}, "subscription", "subscription has 17 members: it has at most 16"},
		{message.DeviceDraft{Channel: "apns", Token: "canary"}, "token", "token is not valid: it must be a device token, 64 to 200 hexadecimal digits"},
		{message.DeviceDraft{Channel: "webpush", Subscription: some}, "subscription", "subscription is not valid: it must be " + endpoint},
		{message.DeviceDraft{Channel: "fcm", Token: "canary", ID: "@a"}, "id", `id "@a" is not allowed: use 1 to 64 of A-Z a-z 0-9 . _ -`},
		{message.DeviceDraft{Channel: "fcm", Token: "canary", App: "@"}, "app", `app "@" is not allowed: use up to 64 of A-Z a-z 0-9 . _ -`},
	} {
		_, err := device.Parse(row.draft, "", nil)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, row.field, invalid.Field)
		require.EqualError(t, err, row.says)
		require.NotContains(t, err.Error(), "canary")
	}
}
