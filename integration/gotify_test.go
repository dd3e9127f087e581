package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/service"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

// The version of Gotify's server, and the hash of its source as go.sum would have it.
const (
	gotifyModule = "github.com/gotify/server/v2@v2.6.1"
	gotifySum    = "h1:Kf7v5fzBxzELzZa/jonWfwJMkqYqh1LBzBpCmt5QIAI="
)

const gotifyPassword = "hunter2"

// gotify is a real Gotify server on a free port of 127.0.0.1.
type gotify struct{ address string }

// startGotify skips the test if there is no C compiler, which Gotify's database needs, unless
// everything must be installed.
func startGotify(t *testing.T) gotify {
	t.Helper()
	program := buildGotify(t)
	g := gotify{address: freeAddress(t)}
	host, port, _ := strings.Cut(g.address, ":")
	folder := t.TempDir()
	server := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	server.Dir = folder
	server.Env = []string{
		"GOTIFY_SERVER_LISTENADDR=" + host, "GOTIFY_SERVER_PORT=" + port, "GOTIFY_DEFAULTUSER_PASS=" + gotifyPassword,
		"GOTIFY_DATABASE_CONNECTION=" + filepath.Join(folder, "gotify.db"),
		"GOTIFY_UPLOADEDIMAGESDIR=" + filepath.Join(folder, "images"), "GOTIFY_PLUGINSDIR=" + filepath.Join(folder, "plugins"),
		"GOTIFY_PASSSTRENGTH=4", // the cheapest hash of a password
		"GIN_MODE=release",
	}
	var said output.Buffer
	server.Stdout, server.Stderr = &said, &said
	require.NoError(t, server.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+g.address+"/health", http.NoBody)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(request)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "%s", &said)
	return g
}

// buildGotify builds the server from its source, in a copy: the module has no built web
// interface, which the program embeds. That takes half a minute of processor time, so the
// program stays in bin.
func buildGotify(t *testing.T) string {
	t.Helper()
	version := strings.NewReplacer("/", "-", ".", "-").Replace(gotifySum + "-" + runtime.Version())
	program, err := filepath.Abs(filepath.Join("../bin", "gotify-"+version))
	require.NoError(t, err)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	compiler, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
	require.NoError(t, err)
	if _, err := exec.LookPath(strings.TrimSpace(string(compiler))); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "a C compiler is missing: tools/install-packages.sh")
		}
		t.Skip("no C compiler, which Gotify needs: tools/install-packages.sh")
	}
	folder := t.TempDir()
	var module struct {
		Dir   string `json:"Dir"`
		Sum   string `json:"Sum"`
		Error string `json:"Error"`
	}
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", gotifyModule)
	download.Dir = folder // outside of this module
	described, err := download.Output()
	require.NoError(t, json.Unmarshal(described, &module))
	require.NoError(t, err, module.Error)
	require.Equal(t, gotifySum, module.Sum)

	source := filepath.Join(folder, "source")
	require.NoError(t, os.CopyFS(source, os.DirFS(module.Dir)))
	interfaces := filepath.Join(source, "ui", "build")
	require.NoError(t, os.MkdirAll(interfaces, 0o700))
	for _, name := range []string{"index.html", "manifest.json", "asset-manifest.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(interfaces, name), []byte("{}"), 0o600))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O0", "GOWORK=off") // it compiles SQLite
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return program
}

// call calls the server's API as its user, and decodes what it answers.
func (g gotify) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.address+path, bytes.NewReader(text))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.SetBasicAuth("admin", gotifyPassword)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, json.NewDecoder(response.Body).Decode(into))
}

// gotifyMessage is a message that the server has.
type gotifyMessage struct {
	Title, Message string
}

func (g gotify) messages(t *testing.T) []gotifyMessage {
	t.Helper()
	var page struct{ Messages []gotifyMessage }
	g.call(t, http.MethodGet, "/message", nil, &page)
	return page.Messages
}

// A real Gotify has what the channel and the worker send.
func TestGotifyShowsMessages(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	g := startGotify(t)
	var app struct{ Token string }
	g.call(t, http.MethodPost, "/application", map[string]string{"name": "shop"}, &app)
	url := func(token string) string { return "gotify://" + g.address + "/" + token + "?disabletls=yes" }
	send := func(token string) notifier.Result {
		channel, err := service.New(service.Config{URL: url(token)})
		require.NoError(t, err)
		defer channel.Close()
		return channel.Notify(t.Context(), notifier.Notification{
			ID: "order-17", User: "alice", Title: "Ihre Bestellung ✓", Body: "Sie ist <b>unterwegs</b> 🚚",
			ClickURL: "https://shop.example/17", Attempt: 1,
		})
	}

	result := send(app.Token)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	want := gotifyMessage{Title: "Ihre Bestellung ✓", Message: "Sie ist <b>unterwegs</b> 🚚\nhttps://shop.example/17"}
	require.Equal(t, []gotifyMessage{want}, g.messages(t))

	wrong := app.Token[:len(app.Token)-2] + "zz"
	refused := send(wrong)
	require.Equal(t, notifier.Retry, refused.Status)
	require.Equal(t, notifier.ReasonUnavailable, refused.Reason)
	require.NotContains(t, refused.Err.Error(), wrong)
	require.Len(t, g.messages(t), 1)

	// The worker delivers to it.
	worker := p.worker(t, []string{"SENDLIMIT_PUSH_URL=" + url(app.Token)})
	worker.delivers(t)
	pushed := p.enqueue(t, worker.environ(t), "push", "--user", "bob", "--id", "1", "--at", "now", "--title", "Hello", "--body", "from the worker")
	require.Equal(t, 0, pushed.status, pushed.stderr)
	require.Eventually(t, func() bool { return len(g.messages(t)) == 2 }, 20*time.Second, 50*time.Millisecond, "%s", &worker.stderr)
	require.Equal(t, gotifyMessage{Title: "Hello", Message: "from the worker"}, g.messages(t)[0])
	require.Equal(t, 0, worker.end(t))
	require.NotContains(t, worker.stderr.String()+worker.stdout.String(), app.Token)
	require.Contains(t, worker.stderr.String(), "gotify://…")
}
