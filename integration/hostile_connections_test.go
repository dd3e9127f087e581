package integration_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// hostileConnections is how many there are at a time.
const hostileConnections = 2000

// hostileKind is a kind of connection that sends much and ends nothing.
type hostileKind struct {
	head  string // of a request whose body does not end
	body  string // is sent again and again
	bytes int    // how much of it
}

// Two thousand connections of strangers and of an account, of every kind, leave the worker's
// memory small, and its deliveries as punctual as those of a worker beside it that has none.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	server := redistest.Shared(t)
	d := newDelivery(t, server.Options())
	environ := []string{"REDIS_URL=" + server.URL()}
	args := []string{"--push-url", d.receiver.URL()}
	if drawn(t, 2) == 1 {
		args = append(args, "--require-keys")
	}
	a := &apiProcess{workerProcess: p.worker(t, environ, args...)}
	a.delivers(t)
	a.address = a.apiAddress(t)
	p.answers(t, p.workerCommand(t, environ, "account", "create", "mallory", "--json"))
	keys, cookies := map[string]string{}, map[string]string{}
	for _, scope := range []string{"submit", "read"} {
		made := p.answers(t, p.workerCommand(t, environ, "account", "add-key", "mallory", "--scopes", scope, "--json"))
		key, _ := made["key"].(string)
		keys[scope], cookies[scope] = "Authorization: Bearer "+key+"\r\n", "Cookie: "+a.logsIn(t, key)+"\r\n"
	}

	other := redistest.Shared(t)
	control := newDelivery(t, other.Options())
	p.worker(t, []string{"REDIS_URL=" + other.URL()}, "--push-url", control.receiver.URL()).delivers(t)

	for _, each := range []*delivery{control, d} {
		each.crowd(60, 3*time.Second, 3*time.Second)
	}
	ctx, end := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	kinds := hostileKinds(keys, cookies)
	for i := range hostileConnections {
		attack.Go(func() { a.attacked(ctx, kinds[i%len(kinds)]) })
	}
	disturbed, undisturbed := d.halfLate(), control.halfLate()
	end()
	attack.Wait()

	peak := a.memoryOf(t, "VmHWM:")
	t.Logf("%d MB; half of the messages are late by at most %s, and of the worker beside it by %s", peak>>20, disturbed, undisturbed)
	require.Less(t, peak, 400<<20)
	require.Less(t, disturbed, max(10*undisturbed, 250*time.Millisecond))
}

// halfLate returns by how much half of the messages were late at most.
func (d *delivery) halfLate() time.Duration {
	late := slices.Sorted(maps.Values(d.arrived()))
	return late[len(late)/2]
}

func hostileKinds(keys, cookies map[string]string) []hostileKind {
	const form, lines = "Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: application/x-ndjson\r\n"
	head := func(path, header string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + header + "Content-Length: 60000000\r\n\r\n"
	}
	text := strings.Repeat("x", 10_000)
	line := `{"user":"u","send_at":"2020-01-01T00:00:00Z","title":"` + text[:4000] + `"}` + "\n"
	return []hostileKind{
		{"GET / HTTP/1.1\r\nX-Slow: ", "x", 10_000},
		{head("/login", form), text, 1 << 20},
		{head("/login", "Content-Type: multipart/form-data; boundary=x\r\n"), "--x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n" + text, 1 << 20},
		{head("/plan/read", ""), text, 4 << 20},
		{head("/plan/read", cookies["read"]), text, 4 << 20},
		{head("/plan/read", cookies["submit"]), strings.Repeat(line, 50), 50 << 20},
		{head("/plan/submit", cookies["submit"]), strings.Repeat(line, 50), 50 << 20},
		{head("/user/submit", cookies["submit"]+form), text, 60_000},
		{head("/user/settings", cookies["read"]+form), text, 1 << 20},
		{head("/v1/messages", keys["submit"]+"Content-Type: application/json\r\n"), text, 60_000},
		{head("/v1/messages", "Content-Type: application/json\r\n"), text, 60_000},
		{head("/v1/messages/batch", keys["submit"]+lines), line, 4 << 20},
		{head("/v1/messages/batch/dry-run", keys["submit"]+lines), line, 4 << 20},
		{"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n" + keys["read"] + "\r\n", "", 0},
	}
}

// attacked opens a connection again and again, and reads nothing of what is answered.
func (a *apiProcess) attacked(ctx context.Context, kind hostileKind) {
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.address)
		if err != nil {
			return
		}
		closes := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, err = io.WriteString(conn, kind.head)
		for sent := 0; err == nil && sent < kind.bytes; sent += len(kind.body) {
			_, err = io.WriteString(conn, kind.body)
			pause(ctx, 20*time.Millisecond)
		}
		pause(ctx, 2*time.Second)
		closes()
		_ = conn.Close()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// logsIn returns the cookie of a session.
func (a *apiProcess) logsIn(t *testing.T, key string) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.address+"/login", strings.NewReader(url.Values{"key": {key}}.Encode()))
	require.NoError(t, err)
	asked.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := client.Do(asked)
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	require.Len(t, got.Cookies(), 1)
	return got.Cookies()[0].Name + "=" + got.Cookies()[0].Value
}
