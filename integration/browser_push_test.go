package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
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

// browserPatience bounds every wait for the browser, which takes seconds to start and shares
// the processors with other tests.
const browserPatience = 90 * time.Second

// browser is a real Firefox with a page that subscribes to pushes, and the push service that
// both sides use.
type browser struct {
	endpoints *notifiertest.PushService
	socket    *pushSocket

	subscribed chan string // the JSON of its PushSubscription
	shown      chan shownPush
	said       output.Buffer // what the page and the browser have to say
}

// shownPush is what the browser shows after a push.
type shownPush struct {
	Title   string            `json:"title"`
	Body    string            `json:"body"`
	Tag     string            `json:"tag"`
	Data    map[string]string `json:"data"`
	Visible int               `json:"visible"` // how many notifications it shows
	Payload map[string]any    `json:"payload"`
}

// startBrowser starts Firefox on a page that subscribes with a public VAPID key. It skips the
// test if Firefox is not installed, unless everything must be installed.
func startBrowser(t *testing.T, publicKey string) *browser {
	t.Helper()
	program, err := exec.LookPath("firefox-esr")
	if err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "Firefox is missing: tools/install-packages.sh")
		}
		t.Skip("firefox-esr is not installed: tools/install-packages.sh")
	}
	b := &browser{
		endpoints:  notifiertest.NewPushService(time.Now),
		subscribed: make(chan string, 1), shown: make(chan shownPush, 100),
	}
	t.Cleanup(b.endpoints.Close)
	b.socket = newPushSocket(t, b.endpoints)
	page := httptest.NewServer(b.page(publicKey))
	t.Cleanup(page.Close)

	folder := t.TempDir()
	profile := filepath.Join(folder, "profile")
	require.NoError(t, os.Mkdir(profile, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(firefoxSettings(b.socket.url())), 0o600))
	firefox := exec.CommandContext(context.WithoutCancel(t.Context()), program,
		"--headless", "--no-remote", "--profile", profile, page.URL+"/")
	firefox.Env = []string{"HOME=" + folder, "TMPDIR=" + folder, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	firefox.Stdout, firefox.Stderr = &b.said, &b.said
	firefox.WaitDelay = 10 * time.Second
	firefox.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its processes end together
	require.NoError(t, firefox.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-firefox.Process.Pid, syscall.SIGKILL)
		_ = firefox.Wait()
	})
	return b
}

// firefoxSettings returns the settings of a Firefox that uses a push service, asks nobody for
// permission, and calls no other server.
func firefoxSettings(pushService string) string {
	var text strings.Builder
	for name, value := range map[string]any{
		"dom.push.serverURL":                         pushService,
		"dom.push.testing.allowInsecureServerURL":    true,
		"dom.push.testing.ignorePermission":          true,
		"dom.push.connection.enabled":                true,
		"permissions.default.desktop-notification":   1,
		"alerts.useSystemBackend":                    false,
		"network.proxy.type":                         0,
		"app.normandy.enabled":                       false,
		"app.update.disabledForTesting":              true,
		"browser.aboutwelcome.enabled":               false,
		"browser.safebrowsing.malware.enabled":       false,
		"browser.safebrowsing.phishing.enabled":      false,
		"browser.shell.checkDefaultBrowser":          false,
		"browser.topsites.contile.enabled":           false,
		"datareporting.policy.dataSubmissionEnabled": false,
		"extensions.getAddons.cache.enabled":         false,
		"extensions.systemAddon.update.enabled":      false,
		"media.gmp-manager.updateEnabled":            false,
		"network.captive-portal-service.enabled":     false,
		"network.connectivity-service.enabled":       false,
		"services.settings.server":                   "data:,#remote-settings-dummy/v1",
		"toolkit.telemetry.enabled":                  false,
		"toolkit.telemetry.server":                   "data:,",
	} {
		encoded, _ := json.Marshal(value) // a text, a number or a boolean
		fmt.Fprintf(&text, "user_pref(%q, %s);\n", name, encoded)
	}
	return text.String()
}

// page serves the page, its service worker, and what they tell.
func (b *browser) page(publicKey string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServer(http.Dir("testdata/browser")))
	mux.HandleFunc("GET /key", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, publicKey) })
	told := func(path string, take func(text []byte)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return // the browser has ended
			}
			take(bytes.TrimSpace(text))
			w.WriteHeader(http.StatusNoContent)
		})
	}
	told("/subscribed", func(text []byte) { b.subscribed <- string(text) })
	told("/shown", func(text []byte) {
		var push shownPush
		if err := json.Unmarshal(text, &push); err != nil {
			_, _ = fmt.Fprintf(&b.said, "the page reports %s: %v\n", text, err)
			return
		}
		b.shown <- push
	})
	told("/failed", func(text []byte) { _, _ = fmt.Fprintf(&b.said, "the page: %s\n", text) })
	return mux
}

// subscription waits for the subscription, and returns its JSON.
func (b *browser) subscription(t *testing.T) string {
	t.Helper()
	select {
	case subscription := <-b.subscribed:
		return subscription
	case <-time.After(browserPatience):
		require.FailNow(t, "the browser does not subscribe", "%s", b.said.String())
		return ""
	}
}

// shows waits for the next notification that the browser shows.
func (b *browser) shows(t *testing.T) shownPush {
	t.Helper()
	select {
	case push := <-b.shown:
		return push
	case <-time.After(browserPatience):
		require.FailNow(t, "the browser shows nothing", "it answered %v\n%s", b.socket.answers(), b.said.String())
		return shownPush{}
	}
}
