package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
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

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// TestAPIProcess tests the built worker's API, on a real Redis, with clients that are
// slow, broken, greedy or many.
func TestAPIProcess(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	run := func(a *apiProcess, name string, test func(*testing.T, *apiProcess)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
	shared := startAPI(t, p)
	run(shared, "headers that trickle", headersTrickle)
	run(shared, "bodies that trickle", bodiesTrickle)
	run(shared, "half-closed connections", halfClosedConnections)
	// These look at the memory.
	run(startAPI(t, p), "huge batches", hugeBatches)
	run(startAPI(t, p), "batches whose answers nobody reads", batchesThatNobodyReads)
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

// beside runs disturb while a few normal clients submit. They get their answers all the
// time.
func (a *apiProcess) beside(t *testing.T, disturb func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const clients = 4
	wait := a.normalClients(ctx, t, clients, func(int64) {
		select { // they do something else in between
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	})
	disturb()
	cancel()
	require.Greater(t, wait(), int64(2*clients))
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

const batchHead = "POST /v1/messages/batch HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"

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

// Slow-loris: the headers must arrive within 5 s, even if they trickle.
func headersTrickle(t *testing.T, a *apiProcess) {
	t.Helper()
	a.beside(t, func() {
		require.Equal(t, slowConnections, a.trickle(t, "POST /v1/messages HTTP/1.1\r\nX-Slow: ", 10*time.Second))
	})
}

// Slow-loris: bodies have more time, but block no other request meanwhile.
func bodiesTrickle(t *testing.T, a *apiProcess) {
	t.Helper()
	a.beside(t, func() {
		a.trickle(t, "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n",
			4*time.Second)
	})
}

// Clients close their half of the connection in the middle of a request or after it, or
// close the whole connection.
func halfClosedConnections(t *testing.T, a *apiProcess) {
	t.Helper()
	a.beside(t, func() {
		for i := range 200 {
			line := apiLine(fmt.Sprintf("half-%d", i), "m", time.Hour)
			whole := fmt.Sprintf("%s%x\r\n%s\r\n0\r\n\r\n", batchHead, len(line), line)
			for _, text := range []string{
				"POST /v1/mess", "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
				batchHead, batchHead + "5\r\n{\"use", whole,
			} {
				conn := a.connect(t)
				require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
				_, err := io.WriteString(conn, text)
				require.NoError(t, err)
				require.NoError(t, conn.CloseWrite())
				if i%2 == 0 {
					require.NoError(t, conn.Close())
					continue
				}
				answer, err := io.ReadAll(conn)
				require.NoError(t, err)
				if text == whole {
					require.Contains(t, string(answer), `{"outcome":"accepted","line":1,`)
				}
			}
		}
	})
}

// hugeBatches sends batches of many lines in parallel. The worker's memory does not
// grow with them.
func hugeBatches(t *testing.T, a *apiProcess) {
	t.Helper()
	const batches, lines = 4, 3000
	a.beside(t, func() {
		send := func(name string) {
			var sending sync.WaitGroup
			for n := range batches {
				sending.Go(func() {
					if err := a.batch(t.Context(), fmt.Sprintf("%s-%d", name, n), lines); err != nil {
						t.Errorf("batch %d: %v", n, err)
					}
				})
			}
			sending.Wait()
		}
		send("first") // buffers and pools reach their size
		before := a.memory(t)
		send("huge")
		grown := a.memory(t) - before
		t.Logf("%d bytes more after %d lines", grown, batches*lines)
		require.Less(t, grown, 16<<20)
	})
}

// batch sends lines, each for another user, and requires that all are accepted.
func (a *apiProcess) batch(ctx context.Context, user string, lines int) error {
	body, write := io.Pipe()
	defer body.Close()
	go func() {
		for i := range lines {
			if _, err := io.WriteString(write, apiLine(fmt.Sprintf("%s-%d", user, i), "m", time.Hour)); err != nil {
				return
			}
		}
		_ = write.Close()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.address+"/v1/messages/batch", body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answers := bufio.NewScanner(response.Body)
	n := 0
	for answers.Scan() {
		var o message.Outcome
		if err := json.Unmarshal(answers.Bytes(), &o); err != nil {
			return err
		}
		if n++; o.Outcome != message.Accepted || o.Line != n {
			return fmt.Errorf("answer %d: %s", n, answers.Bytes())
		}
	}
	if answers.Err() == nil && n != lines {
		return fmt.Errorf("%d answers to %d lines", n, lines)
	}
	return answers.Err()
}

// As many clients as there are places for batches send lines and read nothing. The
// worker stops reading from them, and their memory stays small.
func batchesThatNobodyReads(t *testing.T, a *apiProcess) {
	t.Helper()
	a.beside(t, func() {
		before := a.memory(t)
		var (
			sending sync.WaitGroup
			sent    atomic.Int64
		)
		text := strings.Repeat("{}\n", 10_000)
		for range 16 {
			conn := a.connect(t)
			require.NoError(t, conn.SetReadBuffer(4096)) // so that its way back fills up soon
			require.NoError(t, conn.SetWriteDeadline(time.Now().Add(4*time.Second)))
			sending.Go(func() {
				_, err := io.WriteString(conn, batchHead)
				for err == nil {
					n := 0
					n, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text)
					sent.Add(int64(n))
				}
			})
		}
		sending.Wait()
		require.Less(t, sent.Load(), int64(16*16<<20))
		require.Less(t, a.memory(t)-before, 128<<20)
	})
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
