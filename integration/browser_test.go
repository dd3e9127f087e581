package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

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
