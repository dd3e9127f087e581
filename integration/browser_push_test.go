package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// pushesTo returns a function that pushes to a subscription of the browser.
func (b *browser) pushesTo(t *testing.T, subscription string, keys webpush.Keys) func(notifier.Notification) notifier.Result {
	t.Helper()
	channel, err := webpush.New(webpush.Config{
		PrivateKey: keys.Private, Subject: "mailto:ops@sender.example", Now: time.Now,
		Hosts: []string{b.endpoints.Host()}, AllowInternal: true, RootCAs: b.endpoints.Roots(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, channel.Close()) })
	device := &notifier.Device{Address: subscription}
	require.NoError(t, channel.CheckAddress(device.Address))
	return func(n notifier.Notification) notifier.Result {
		n.Device, n.Attempt = device, 1
		n.IdempotencyKey = notifier.IdempotencyKey("", n.User, n.ID)
		return channel.Notify(t.Context(), n)
	}
}

// A real browser subscribes, decrypts what the channel sends, and shows it.
func TestABrowserShowsPushes(t *testing.T) {
	t.Parallel()
	sendlimittest.Long(t)
	keys, err := webpush.GenerateKeys()
	require.NoError(t, err)
	others, err := webpush.GenerateKeys()
	require.NoError(t, err)
	b := startBrowser(t, keys.Public)
	subscription := b.subscription(t)
	push := b.pushesTo(t, subscription, keys)
	shown := func(n notifier.Notification) shownPush {
		t.Helper()
		result := push(n)
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
		return b.shows(t)
	}

	badge := 3
	first := notifier.Notification{
		ID: "order-17", User: "alice", Title: "Ihre Bestellung ✓", Body: "Sie ist unterwegs,\n<b>heute</b> 🚚",
		Data: map[string]string{"order": "17"}, ClickURL: "https://shop.example/17", Badge: &badge,
	}
	got := shown(first)
	require.Equal(t, first.Title, got.Title)
	require.Equal(t, first.Body, got.Body)
	require.Equal(t, first.Data, got.Data)
	require.Equal(t, "order-17", got.Tag)
	require.Equal(t, 1, got.Visible)
	require.EqualValues(t, badge, got.Payload["app_badge"])
	require.Equal(t, "order-17", got.Payload["id"])

	require.Equal(t, 1, shown(first).Visible, "a second copy takes the first one's place")

	// Every length of padded body.
	const around = len(`{"id":"n-1","notification":{"body":"","tag":"n-1","title":"t"}}`)
	for i, length := range []int{20, 300, 800, 1800, 2400, webpush.MaxPayload - around} {
		n := notifier.Notification{ID: "n-" + string(rune('1'+i)), User: "alice", Title: "t", Body: strings.Repeat("x", length)}
		got := shown(n)
		require.Equal(t, n.Body, got.Body)
		require.Equal(t, 2+i, got.Visible)
	}
	lengths := map[int]bool{}
	for _, sent := range b.endpoints.Pushes() {
		lengths[sent.Length] = true
	}
	require.Len(t, lengths, 6, "%v", lengths)

	mixedUp := b.pushesTo(t, subscription, others)(first)
	require.Equal(t, notifier.Gone, mixedUp.Status)
	require.Equal(t, notifier.ReasonMismatched, mixedUp.Reason, "signed with another key")

	last := notifier.Notification{ID: "last", User: "alice", Title: "Goodbye", Data: map[string]string{"leave": "yes"}}
	require.Equal(t, "Goodbye", shown(last).Title)
	require.Eventually(t, func() bool { return b.socket.subscriptions() == 0 }, browserPatience, 20*time.Millisecond)
	require.Equal(t, notifier.Gone, push(first).Status, "the browser has unsubscribed")
	require.Eventually(t, func() bool { return len(b.socket.answers()) == 9 }, browserPatience, 20*time.Millisecond)
	for _, code := range b.socket.answers() {
		require.Equal(t, pushShown, code)
	}
}
