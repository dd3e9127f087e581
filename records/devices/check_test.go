package devices_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestFieldsOutOfBounds(t *testing.T) {
	t.Parallel()
	server, s := newStore(t)
	const names, tag = " of A-Z a-z 0-9 . _ -", "a language tag such as de or pt-BR, of at most 35 characters"
	for _, row := range []struct{ field, value, want string }{
		{"id", "@log", "1 to 64" + names},
		{"id", "a b", "1 to 64" + names},
		{"id", strings.Repeat("x", 65), "1 to 64" + names},
		{"channel", "sms", "fcm, apns or webpush"},
		{"channel", "", "fcm, apns or webpush"},
		{"app", "a/b", "up to 64" + names},
		{"app", strings.Repeat("x", 65), "up to 64" + names},
		{"account", "A", "a name of 1 to 64 of a-z 0-9 _ -"},
		{"locale", "d", tag},
		{"locale", "de DE", tag},
		{"locale", "de-", tag},
		{"locale", "-DE", tag},
		{"locale", "deutscher", tag},
		{"locale", "d1-DE", tag},
		{"locale", "de-123456789", tag},
		{"locale", "de-12345678-12345678-12345678-1234567", tag},
	} {
		d := devices.Device{Channel: devices.FCM, Address: "canary"}
		switch row.field {
		case "id":
			d.ID = row.value
		case "channel":
			d.Channel = row.value
		case "app":
			d.App = row.value
		case "account":
			d.Account = row.value
		case "locale":
			d.Locale = row.value
		}
		_, err := s.Add(t.Context(), "alice", d, 0)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
		_, err = devices.Encode([]devices.Device{d})
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	_, err := devices.Encode([]devices.Device{{Channel: devices.FCM, Address: "canary"}})
	require.Equal(t, "a time from 1970 on", story.Invalid(t, err, "registered_at", "0001-01-01 00:00:00 +0000 UTC"))
	_, err = s.Add(t.Context(), "", devices.Device{Channel: devices.FCM, Address: "canary"}, 0)
	require.ErrorContains(t, err, "user")
	_, err = s.List(t.Context(), "")
	require.ErrorContains(t, err, "user")
	_, err = s.Remove(t.Context(), "alice", "@log")
	require.ErrorContains(t, err, "device")
	_, err = s.RemoveOf(t.Context(), "*", "alice", "a")
	require.ErrorContains(t, err, "account")
	_, err = s.RemoveGone(t.Context(), "alice", []devices.Gone{{}})
	require.ErrorContains(t, err, "device")
	_, err = s.NoteSuccess(t.Context(), "alice", []string{"a b"})
	require.ErrorContains(t, err, "device")
	require.Empty(t, server.Keys())
}

func TestFieldsAtTheirBounds(t *testing.T) {
	t.Parallel()
	_, s := newStore(t)
	for _, locale := range []string{"", "de", "pt-BR", "zh-Hant-TW", "sl-rozaj-biske-1994", "abcdefgh-12345678-12345678-12345678"} {
		accepted(t, s, devices.Device{
			ID: strings.Repeat("x", 60) + "A.9_"[:min(4, len(locale))], Channel: devices.FCM, App: strings.Repeat("a", 64), Locale: locale,
			Account: strings.Repeat("a", 64), Address: strings.Repeat("~", devices.MaxAddress-len(locale)),
		}, devices.Added)
		require.NoError(t, removeAll(t, s))
	}
}

// removeAll removes the devices of alice.
func removeAll(t *testing.T, s *devices.Store) error {
	t.Helper()
	for _, d := range listed(t, s) {
		if _, err := s.Remove(t.Context(), "alice", d.ID); err != nil {
			return err
		}
	}
	return nil
}

// A wrong address is refused, and not shown.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const (
		token   = "a registration token, 1 to 4,096 printable characters without spaces"
		hex     = "a device token, 64 to 200 hexadecimal digits"
		object  = "the JSON of a PushSubscription, with endpoint and keys, of at most 4,096 bytes"
		address = "an endpoint that is an https: URL without user, password and fragment"
		public  = "a key p256dh that is a point on P-256, 65 bytes in base64url"
		secret  = "a key auth of 16 bytes in base64url"
	)
	changed := func(old, with string) string {
		require.Contains(t, subscription, old)
		return strings.Replace(subscription, old, with, 1)
	}
	for _, row := range []struct{ channel, address, want string }{
		{devices.FCM, "", token},
		{devices.FCM, "canary token", token},
		{devices.FCM, "canary\n", token},
		{devices.FCM, "canaré", token},
		{devices.FCM, "canary\x7f", token},
		{devices.FCM, strings.Repeat("c", 4097), token},
		{devices.APNs, apnsToken[:63], hex},
		{devices.APNs, apnsToken[:63] + "g", hex},
		{devices.APNs, strings.Repeat("a", 201), hex},
		{devices.WebPush, "https://push.example.net/canary", object},
		{devices.WebPush, `{"endpoint":5}`, object},
		{devices.WebPush, subscription + strings.Repeat(" ", 4097), object},
		{devices.WebPush, `{}`, address},
		{devices.WebPush, changed("https:", "http:"), address},
		{devices.WebPush, changed("https://", "https://canary@"), address},
		{devices.WebPush, changed("push.example.net", ""), address},
		{devices.WebPush, changed("/JzL", "/#JzL"), address},
		{devices.WebPush, changed("/JzL", "/ JzL"), address},
		{devices.WebPush, changed("/JzL", `/\"JzL`), address},
		{devices.WebPush, changed("/JzL", "/é"), address},
		{devices.WebPush, changed("/JzL", "/%zz"), address},
		{devices.WebPush, changed(p256dh, p256dh[:80]), public},
		{devices.WebPush, changed(p256dh[10:20], "AAAAAAAAAA"), public},
		{devices.WebPush, changed(p256dh, "canary!"), public},
		{devices.WebPush, changed(auth, auth[:20]), secret},
		{devices.WebPush, changed(auth, "!"), secret},
	} {
		_, err := devices.Complete(devices.Device{Channel: row.channel, Address: row.address})
		require.Equal(t, row.want, story.Invalid(t, err, "address", "(not shown)"), row.address)
	}
}

// An error describes an invalid token, and does not show it.
func TestAddressesOfOtherKinds(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"null": "what an app or an export writes for a missing one", "BLACKLISTED": "what an app or an export writes for a missing one",
		"#N/A": "what an app or an export writes for a missing one", "SERVICE_NOT_AVAILABLE": "what an app or an export writes for a missing one",
		"ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]": "a token of Expo: register the token that getDevicePushTokenAsync returns",
		"https://fcm.googleapis.com/fcm/send/abc":   "the endpoint of a browser: register its subscription with the channel webpush",
		strings.ToUpper(apnsToken):                  "a token of Apple's: use the channel apns",
	} {
		_, err := devices.Complete(devices.Device{Channel: devices.FCM, Address: address})
		require.EqualError(t, err, `address "(not shown)" is not allowed: use a registration token, 1 to 4,096 printable characters without spaces: this is `+says)
	}
	for _, address := range []string{"fGci:APA91bH", "nullable", apnsToken[1:], "none-1"} {
		_, err := devices.Complete(devices.Device{Channel: devices.FCM, Address: address})
		require.NoError(t, err)
	}
}

// The locale of a system is read as a language tag.
func TestLocalesOfSystems(t *testing.T) {
	t.Parallel()
	for locale, tag := range map[string]string{
		"en_US": "en-US", "de-DE@euro": "de-DE", "pt_BR.UTF-8": "pt-BR", "zh_Hant_TW": "zh-Hant-TW", "de": "de", "": "", "sr_RS@latin": "sr-RS",
	} {
		d, err := devices.Complete(devices.Device{Channel: devices.FCM, Address: "token", Locale: locale})
		require.NoError(t, err)
		require.Equal(t, tag, d.Locale)
	}
}
