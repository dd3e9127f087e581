package integration_test

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
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

// A real browser subscribes, decrypts what the channel and a worker send, and shows it. When it
// has unsubscribed, the worker removes the device.
func TestABrowserShowsPushes(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
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

	b.showsWhatAWorkerSends(t, p, keys, subscription)
	require.Equal(t, notifier.Gone, push(first).Status, "the browser has unsubscribed")
	require.Eventually(t, func() bool { return len(b.socket.answers()) == 10 }, browserPatience, 20*time.Millisecond)
	for _, code := range b.socket.answers() {
		require.Equal(t, pushShown, code)
	}
}

// showsWhatAWorkerSends makes the browser unsubscribe in the end.
func (b *browser) showsWhatAWorkerSends(t *testing.T, p programs, keys webpush.Keys, address string) {
	t.Helper()
	folder := t.TempDir()
	roots, subscription := filepath.Join(folder, "roots.pem"), filepath.Join(folder, "subscription.json")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.endpoints.Root().Raw})
	require.NoError(t, os.WriteFile(roots, certificate, 0o600))
	require.NoError(t, os.WriteFile(subscription, []byte(address), 0o600))

	worker := p.worker(t, []string{
		"SENDLIMIT_WEBPUSH_PRIVATE_KEY=" + keys.Private, "SENDLIMIT_WEBPUSH_SUBJECT=ops@sender.example",
		"SENDLIMIT_WEBPUSH_HOSTS=" + b.endpoints.Host(), "SENDLIMIT_WEBPUSH_ALLOW_INTERNAL=true", "SSL_CERT_FILE=" + roots,
	})
	environ := worker.environ(t)
	worker.delivers(t)
	enqueue := func(args ...string) string {
		t.Helper()
		done := p.enqueue(t, environ, args...)
		require.Equal(t, 0, done.status, "%s%s", done.stdout, done.stderr)
		require.NotContains(t, done.stdout+done.stderr, "/push/", "endpoints are secrets")
		return done.stdout
	}
	// One person after another logs in: each may get a message at once.
	logsIn := func(user string) {
		t.Helper()
		enqueue("device", "add", "--user", user, "--channel", "webpush", "--subscription", subscription, "--id", "laptop")
	}
	logsIn("alice")
	enqueue("push", "--user", "alice", "--id", "1", "--at", "now", "--title", "Hallo ✓", "--body", "vom Worker", "--data", "order=17")
	got := b.shows(t)
	require.Equal(t, "Hallo ✓", got.Title)
	require.Equal(t, "vom Worker", got.Body)
	require.Equal(t, map[string]string{"order": "17"}, got.Data)

	logsIn("bob")
	require.NotContains(t, enqueue("device", "list", "--user", "alice"), "laptop")
	enqueue("push", "--user", "bob", "--id", "2", "--at", "now", "--title", "Goodbye", "--data", "leave=yes")
	require.Equal(t, "Goodbye", b.shows(t).Title)
	require.Eventually(t, func() bool { return b.socket.subscriptions() == 0 }, browserPatience, 20*time.Millisecond)

	logsIn("carol")
	enqueue("push", "--user", "carol", "--id", "3", "--at", "now", "--title", "Nobody is there")
	require.Eventually(t, func() bool {
		return !strings.Contains(p.enqueue(t, environ, "device", "list", "--user", "carol").stdout, "laptop")
	}, browserPatience, 100*time.Millisecond, "the device is still there")
	require.Equal(t, 0, worker.end(t))
	require.NotContains(t, worker.stderr.String(), keys.Private)
	require.NotContains(t, worker.stderr.String()+worker.stdout.String(), "/push/", "endpoints are secrets")
}
