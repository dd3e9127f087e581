package integration_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Slow-loris: the headers must arrive within 5 s, even if they trickle. Meanwhile a few other
// clients get their answers. The worker is the built one, on a real Redis.
func TestHeadersThatTrickle(t *testing.T) {
	t.Parallel()
	a := startAPI(t, buildPrograms(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const clients = 4
	wait := a.normalClients(ctx, t, clients, func(int64) {
		select { // they do something else in between
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	})
	require.Equal(t, slowConnections, a.trickle(t, "POST /v1/messages HTTP/1.1\r\nX-Slow: ", 10*time.Second))
	cancel()
	require.Greater(t, wait(), int64(2*clients))
}

// apiProcess is a worker that serves only the API.
type apiProcess struct {
	*workerProcess

	address string // of the API
	crowds  atomic.Int64
}

func startAPI(t *testing.T, p programs, environ ...string) *apiProcess {
	t.Helper()
	server := redistest.Shared(t)
	worker := p.worker(t, append(environ, "REDIS_URL="+server.URL()), "--deliver=false")
	u, err := url.Parse(worker.logged(t, "API endpoint", "url"))
	require.NoError(t, err)
	return &apiProcess{workerProcess: worker, address: u.Host}
}

// normalClients submit, each one message after the other, until the context ends. Each request
// must be accepted, and quickly. After each, then gets how many were; wait returns it.
func (a *apiProcess) normalClients(ctx context.Context, t *testing.T, clients int, then func(accepted int64)) (wait func() int64) {
	t.Helper()
	var (
		accepted atomic.Int64
		working  sync.WaitGroup
	)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	crowd := a.crowds.Add(1)
	for n := range clients {
		working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := a.submit(context.WithoutCancel(ctx), client, fmt.Sprintf("normal-%d-%d-%d", crowd, n, i)); err != nil {
					t.Errorf("a normal client: %v", err)
					return
				}
				then(accepted.Add(1))
			}
		})
	}
	return func() int64 {
		working.Wait()
		transport.CloseIdleConnections()
		return accepted.Load()
	}
}

func (a *apiProcess) submit(ctx context.Context, client *http.Client, user string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.address+"/v1/messages",
		strings.NewReader(apiLine(user, "m", time.Hour)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusCreated {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return err
}

func apiLine(user, id string, after time.Duration) string {
	at := time.Now().Add(after).UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{"id":%q,"user":%q,"send_at":%q,"title":"t"}`+"\n", id, user, at)
}

// connect opens a connection, for what no HTTP client does.
func (a *apiProcess) connect(t *testing.T) *net.TCPConn {
	t.Helper()
	address, err := net.ResolveTCPAddr("tcp", a.address)
	require.NoError(t, err)
	conn, err := net.DialTCP("tcp", nil, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// slowConnections is more than the number of requests that are served at a time.
const slowConnections = 300

// trickle sends a beginning on many connections, and then a byte on each now and then,
// until lasts is over or the server has closed them all. It returns how many the server
// closed.
func (a *apiProcess) trickle(t *testing.T, beginning string, lasts time.Duration) (closed int) {
	t.Helper()
	open := make(map[net.Conn]bool)
	for range slowConnections {
		conn := a.connect(t)
		_, err := io.WriteString(conn, beginning)
		require.NoError(t, err)
		open[conn] = true
	}
	for end := time.Now().Add(lasts); time.Now().Before(end) && len(open) > 0; time.Sleep(200 * time.Millisecond) {
		for conn := range open {
			if _, err := io.WriteString(conn, "x"); err != nil {
				delete(open, conn)
			}
		}
	}
	return slowConnections - len(open)
}

// memory returns the worker's memory in bytes.
func (w *workerProcess) memory(t *testing.T) int { t.Helper(); return w.memoryOf(t, "VmRSS:") }

// memoryOf returns what a field of /proc says about the worker's memory, in bytes.
func (w *workerProcess) memoryOf(t *testing.T, field string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.command.Process.Pid))
	if err != nil {
		t.Skip("there is no /proc that tells a process's memory")
	}
	_, rest, found := strings.Cut(string(text), field)
	require.True(t, found)
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kilobytes << 10
}

const (
	// apiSoakEnv is how many requests the clients make; the default is apiSoakDefault.
	apiSoakEnv     = "SENDLIMIT_TEST_API_SOAK"
	apiSoakDefault = 9000
	apiSoakClients = 64
	// apiSoakGrowth is how many bytes the worker's memory may grow by a request after it has
	// what it needs, beside apiSoakNoise: 300,000 requests of the soak show a growth of 50.
	apiSoakGrowth = 20
	apiSoakNoise  = 8 << 20
)

// Sixty-four connections are served without an error, and the worker's memory does not
// grow with the number of requests.
func TestAPISoak(t *testing.T) {
	t.Parallel()
	requests := int64(apiSoakDefault)
	if text := os.Getenv(apiSoakEnv); text != "" {
		var err error
		requests, err = strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
	}
	a := startAPI(t, buildPrograms(t), "GOGC=20") // so that garbage is a small part of the memory
	// In the first third, buffers and pools reach their size.
	a.requests(t, requests/3)
	early := a.memory(t)
	late := a.memory(t)
	for i := range 10 { // what grows with the requests stays; a peak between two collections does not
		a.requests(t, requests/15)
		if now := a.memory(t); i == 7 || now < late {
			late = now
		}
	}
	t.Logf("%d requests; memory %d kB, then at least %d kB", requests, early>>10, late>>10)
	require.Less(t, int64(late)-int64(early), apiSoakNoise+apiSoakGrowth*requests)
	require.NotContains(t, a.stderr.String(), `"level":"ERROR"`)
	require.Zero(t, a.end(t))
}

// requests makes a number of requests with all clients.
func (a *apiProcess) requests(t *testing.T, n int64) {
	t.Helper()
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	a.normalClients(ctx, t, apiSoakClients, func(accepted int64) {
		if accepted >= n {
			enough()
		}
	})()
}
