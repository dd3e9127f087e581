package webpush_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// One token is signed for an origin and hour.
func TestATokenIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	clock := func() time.Time { return now }
	service, other := pushService(t, clock), pushService(t, clock)
	channel, browser := openTo(t, service, webpush.Config{Now: clock})
	second := device(t, service, channel.PublicKey())
	token := func(service *notifiertest.PushService, to *notifier.Device) string {
		t.Helper()
		require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), order(to)).Status)
		pushes := service.Pushes()
		return pushes[len(pushes)-1].Authorization
	}
	first := token(service, browser)
	now = now.Add(time.Hour - time.Millisecond)
	require.Equal(t, first, token(service, second), "another browser")
	require.NotEqual(t, first, token(other, device(t, other, channel.PublicKey())), "another origin")
	now = now.Add(time.Millisecond)
	later := token(service, browser)
	require.NotEqual(t, first, later)
	now = now.Add(-30 * time.Hour) // the later one would be valid for longer than a day
	require.NotEqual(t, later, token(service, browser))
}

// The service verifies what real ones do, and says what they say.
func TestWhatThePushServiceRefuses(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel, browser := openTo(t, service, webpush.Config{})
	pair, err := webpush.GenerateKeys()
	require.NoError(t, err)
	result := channel.Notify(t.Context(), order(device(t, service, pair.Public)))
	require.Equal(t, notifier.Gone, result.Status)
	require.Equal(t, notifier.ReasonMismatched, result.Reason)

	service.Unsubscribe(browser.Address)
	result = channel.Notify(t.Context(), order(browser))
	require.Equal(t, notifier.Gone, result.Status)
	require.EqualError(t, result.Err, "the push service answered with HTTP status 410, Unregistered")

	late, browser := openTo(t, service, webpush.Config{Now: func() time.Time { return time.Now().Add(-13 * time.Hour) }})
	result = late.Notify(t.Context(), order(browser))
	require.Equal(t, notifier.Refused, result.Status, "our clock is wrong, and the token has expired")
	require.EqualError(t, result.Err, "the push service answered with HTTP status 403, BadJwtToken")
	early, browser := openTo(t, service, webpush.Config{Now: func() time.Time { return time.Now().Add(13 * time.Hour) }})
	require.Equal(t, notifier.Refused, early.Notify(t.Context(), order(browser)).Status, "it is valid for more than a day")
	require.Empty(t, service.Pushes())
}

func TestHostsThatArePushedTo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		endpoint string
		standard bool   // allowed by default
		by       string // a host that allows it
	}{
		{"https://fcm.googleapis.com/fcm/send/dpH5lCsTSSM:APA91b", true, "fcm.googleapis.com"},
		{"https://fcm.googleapis.com:443/wp/dpH5lCsTSSM", true, "*.googleapis.com"},
		{"https://FCM.googleapis.com./wp/dpH5lCsTSSM", true, "fcm.googleapis.com"},
		{"https://updates.push.services.mozilla.com/wpush/v2/gAAAAA", true, "*"},
		{"https://wns2-par02p.notify.windows.com/w/?token=BQYA", true, "*.Notify.windows.com"},
		{"https://web.push.apple.com/QHBLpKY", true, "web.push.apple.com"},
		{"https://push.example.com/1", false, "push.example.com"},
		{"https://fcm.googleapis.com.example.com/1", false, "*.example.com"},
		{"https://evilpush.apple.com.example/1", false, "*"},
		{"https://notpush.apple.com/1", false, "*.apple.com"},
		{"https://push.apple.com/1", false, "push.apple.com"}, // the hosts below it only
		// What is no push service at these hosts would refuse our credentials.
		{"https://fcm.googleapis.com/v1/projects/shop/messages:send", false, "fcm.googleapis.com"},
		{"https://fcm.googleapis.com/wp/../v1/projects/shop/messages:send", false, "fcm.googleapis.com"},
		{"https://fcm.googleapis.com/wp/%2e%2e%2fv1/projects", false, "fcm.googleapis.com"},
		{"https://fcm.googleapis.com:8443/wp/dpH5lCsTSSM", false, "fcm.googleapis.com"},
		{"https://fcm.googleapis.com/preprod/wp/dpH5lCsTSSM", true, "fcm.googleapis.com"},
		{"https://updates.push.services.mozilla.com/v1/rust/bridge", false, "*"},
		{"https://db3.notify.windows.com/?token=BQYA", false, "*.notify.windows.com"},
		{"https://api.push.apple.com/3/device/abc", false, "*.push.apple.com"},
		{"https://web.push.apple.com/", false, "web.push.apple.com"},
	} {
		address := subscription(t, row.endpoint)
		standard := open(t, webpush.Config{})
		if row.standard {
			require.NoError(t, standard.CheckAddress(address), row.endpoint)
		} else {
			var invalid *notifier.InvalidError
			require.ErrorAs(t, standard.CheckAddress(address), &invalid, row.endpoint)
			require.Equal(t, "address", invalid.Field)
			n := order(&notifier.Device{Address: address})
			result := standard.Notify(t.Context(), n)
			require.NoError(t, result.Validate())
			require.Equal(t, notifier.ReasonMisaddressed, result.Reason, row.endpoint)
		}
		require.NoError(t, open(t, webpush.Config{Hosts: []string{"push.invalid", row.by}}).CheckAddress(address), row.endpoint)
		require.Error(t, open(t, webpush.Config{Hosts: []string{"push.invalid"}}).CheckAddress(address), row.endpoint)
	}
}

func TestSubscriptionsThatAreMalformed(t *testing.T) {
	t.Parallel()
	sound := subscription(t, "https://fcm.googleapis.com/wp/secret-path")
	channel := open(t, webpush.Config{})
	require.NoError(t, channel.CheckAddress(sound))
	for _, address := range []string{
		"", "{}", "secret", `["secret"]`, `{"endpoint": 1}`,
		strings.Replace(sound, "https:", "http:", 1),
		strings.Replace(sound, "https://", "https://robot:secret@", 1),
		strings.Replace(sound, "secret-path", "secret-path#x", 1),
		strings.Replace(sound, "fcm.googleapis.com", "", 1),
		strings.Replace(sound, "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAA", 1),
		strings.Replace(sound, "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA!!", 1),
		strings.Replace(sound, keys().Public, keys().Private, 1),
		strings.Replace(sound, keys().Public, strings.Repeat("B", 87), 1), // not on the curve
		sound + strings.Repeat(" ", 4096),
	} {
		var invalid *notifier.InvalidError
		require.ErrorAs(t, channel.CheckAddress(address), &invalid, address)
		require.Equal(t, "address", invalid.Field)
		require.NotContains(t, invalid.Error(), "secret")
		result := channel.Notify(t.Context(), order(&notifier.Device{Address: address}))
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason, address)
		require.NotContains(t, result.Err.Error(), "secret")
	}
	// Libraries write base64 in several ways.
	for _, key := range []string{keys().Public + "=", strings.NewReplacer("-", "+", "_", "/").Replace(keys().Public)} {
		require.NoError(t, channel.CheckAddress(strings.Replace(sound, keys().Public, key, 1)))
	}
}

// Browsers name the endpoints: what only this machine reaches is not theirs.
func TestInternalHostsAreRefused(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel := open(t, webpush.Config{Hosts: []string{"*"}, RootCAs: service.Roots()})
	for _, address := range []string{
		device(t, service, channel.PublicKey()).Address,
		subscription(t, "https://localhost:9/"), subscription(t, "https://[::1]:9/"), subscription(t, "https://169.254.169.254/latest"),
	} {
		result := channel.Notify(t.Context(), order(&notifier.Device{Address: address}))
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason, "%v", result.Err)
		require.ErrorContains(t, result.Err, "internal")
		require.NotContains(t, result.Err.Error(), "127.0.0.1")
	}
	require.Empty(t, service.Pushes())
}

func TestSettings(t *testing.T) {
	t.Parallel()
	_, err := webpush.New(webpush.Config{
		PrivateKey: "hunter2", Subject: "the operators", Hosts: []string{"https://push.example.com/"}, Timeout: -1,
	})
	for _, want := range []string{
		"private_key", `subject "the operators"`, `hosts "https://push.example.com/"`, `timeout "-1ns"`, "clock",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter2")
	for subject, sound := range map[string]bool{
		"ops@example.com": true, "mailto:ops@example.com": true, "https://example.com/contact": true,
		"": false, "mailto:": false, "http://example.com": false, "https://": false, "Ops <ops@example.com>": false, "mailto: ops@example.com": false,
	} {
		_, err := webpush.New(webpush.Config{PrivateKey: keys().Private, Subject: subject, Now: time.Now})
		require.Equal(t, sound, err == nil, "%q: %v", subject, err)
	}
}

func TestProbeSendsNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, notifier.Result{Status: notifier.Delivered}, open(t, webpush.Config{}).Probe(t.Context()))
}

// A browser's subscription may be anything.
func FuzzSubscription(f *testing.F) {
	f.Add(`{"endpoint":"https://fcm.googleapis.com/x","keys":{"p256dh":"BCVx","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}`)
	f.Add(`{"endpoint":"https://%zz","keys":null}`)
	f.Add(`{"endpoint":"https://[::1%25x]:99999/x"}`)
	f.Fuzz(func(t *testing.T, address string) {
		if _, err := webpush.ParseSubscription(address); err != nil {
			var invalid *notifier.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "(not shown)", invalid.Value)
		}
	})
}
