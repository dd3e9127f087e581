package notifiertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// faults uses a server that misbehaves on the wire, as net/http's would not. A channel must
// return well before patience ends: after the answer's head, or after its own timeout if
// none comes.
func (s HTTPSuite) faults(t *testing.T) {
	t.Parallel()
	delivered := notifier.Result{Status: notifier.Delivered}
	unavailable := notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable}
	busy, ok := s.meaning(http.StatusServiceUnavailable)
	require.True(t, ok, "no row for status 503")
	network := notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonNetwork}
	timeout := notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout}
	for _, row := range []struct {
		name  string
		serve func(net.Conn)
		want  notifier.Result
	}{
		// Without an answer.
		{"closed without an answer", says(""), network},
		{"reset without an answer", func(c net.Conn) { readRequest(c); reset(c) }, network},
		{"closed in the status line", says("HTTP/1.1 20"), network},
		{"closed in the headers", says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Par"), network},
		{"reset in the headers", func(c net.Conn) { says("HTTP/1.1 200 OK\r\nX-Par")(c); reset(c) }, network},
		{"not HTTP", says("220 mail.example.com ESMTP " + canary + "\r\n"), network},
		{"a broken header", says("HTTP/1.1 200 OK\r\n" + canary + "\r\n\r\n"), network},
		{"headers too large", says("HTTP/1.1 200 OK\r\nX-Big: " + strings.Repeat("b", 1<<20) + "\r\n\r\n"), network},
		{"no answer", hangs(""), timeout},
		{"headers that never end", trickles("HTTP/1.1 200 OK\r\n", "X-More: 1\r\n"), timeout},
		{"early hints and nothing more", hangs("HTTP/1.1 103 Early Hints\r\n\r\n"), timeout},

		// The answer's head has come and counts, whatever the rest does.
		{"interim answers first", says("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), delivered},
		{"closed in the body", says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), delivered},
		{"reset in the body", func(c net.Conn) { says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")(c); reset(c) }, delivered},
		{"a broken body", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), delivered},
		{"a body that claims to be compressed", says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"), delivered},
		{"a body that never comes", hangs("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), delivered},
		{"a slow body", trickles("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "b"), delivered},
		{"an endless body", pours("HTTP/1.1 200 OK\r\n\r\n"), delivered},
		{"a failure with a body that never comes", hangs("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\n"), notifier.Result{Status: busy.Status, Reason: busy.Reason}},
		{"a failure with an endless body", pours("HTTP/1.1 500 Internal Server Error\r\n\r\n"), unavailable},

		// Statuses that do not exist count as a failing server.
		{"status 600", says("HTTP/1.1 600 Unheard Of\r\nContent-Length: 0\r\n\r\n"), unavailable},
		{"status 999", says("HTTP/1.1 999 Request Denied\r\nContent-Length: 0\r\n\r\n"), unavailable},
		{"another protocol nobody asked for", hangs("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), unavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			wait := patience
			if row.want.Reason == notifier.ReasonTimeout {
				wait = 200 * time.Millisecond
			}
			baseURL := rawServer(t, row.serve)
			channel := s.New(t, baseURL, wait)
			result := within(t, patience/2, func() notifier.Result {
				return channel.Notify(t.Context(), sample("alice", "id-1"))
			})
			s.requireSound(t, result, baseURL)
			require.Equal(t, row.want.Status, result.Status, "%v", result.Err)
			require.Equal(t, row.want.Reason, result.Reason, "%v", result.Err)
		})
	}
}

// noResend uses a server that answers the first request of a connection, reads the second
// and hangs up: it may have acted on it.
func (s HTTPSuite) noResend(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	baseURL := rawServer(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for first := true; ; first = false {
			if !readFrom(in) {
				return
			}
			requests.Add(1)
			if !first {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	channel := s.New(t, baseURL, patience)
	result := channel.Notify(t.Context(), sample("alice", "id-1"))
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	result = channel.Notify(t.Context(), sample("alice", "id-2"))
	s.requireSound(t, result, baseURL)
	require.True(t, result.Uncertain(), "it was read, then the connection broke")
	require.EqualValues(t, 2, requests.Load(), "the second was sent again")
}

// reuse counts connections: a new one for each delivery would run out of ports.
func (s HTTPSuite) reuse(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	baseURL := rawServer(t, func(c net.Conn) {
		connections.Add(1)
		in := bufio.NewReader(c)
		for readFrom(in) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n%1000d", 0)
		}
	})
	channel := s.New(t, baseURL, patience)
	for range 20 {
		result := channel.Notify(t.Context(), sample("alice", "id-1"))
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	}
	require.EqualValues(t, 1, connections.Load(), "one after the other")

	const rounds = 8
	for range rounds {
		for _, result := range together(t.Context(), channel, parallel) {
			require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
		}
	}
	require.LessOrEqual(t, connections.Load(), int32(2*parallel), "%d at a time, %d times", parallel, rounds)
}

// rawServer calls serve with each connection, closes it afterwards, and returns the base
// URL.
func rawServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		open    []net.Conn
	)
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			running.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return "http://" + listener.Addr().String()
}

func readRequest(c net.Conn) { readFrom(bufio.NewReader(c)) }

// readFrom reads one request to its end and reports whether there was one.
func readFrom(in *bufio.Reader) bool {
	request, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

// says reads the request, writes text and hangs up.
func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, text)
	}
}

// hangs reads the request, writes text, and then nothing until the other side hangs up.
func hangs(text string) func(net.Conn) {
	return func(c net.Conn) {
		says(text)(c)
		_, _ = io.Copy(io.Discard, c)
	}
}

// trickles reads the request, writes text, and then more every few milliseconds until the
// other side hangs up.
func trickles(text, more string) func(net.Conn) {
	return func(c net.Conn) {
		says(text)(c)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(c, more); err != nil {
				return
			}
		}
	}
}

// pours reads the request, writes text, and then more without end.
func pours(text string) func(net.Conn) {
	return func(c net.Conn) {
		says(text)(c)
		more := strings.Repeat("b", 32<<10)
		for {
			if _, err := io.WriteString(c, more); err != nil {
				return
			}
		}
	}
}

// reset ends the connection with a TCP RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
