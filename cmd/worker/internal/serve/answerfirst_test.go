package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/rawtest"
)

// serving runs an endpoint until the end of the test, and returns its address.
func serving(t *testing.T, bodyTimeout time.Duration, handler http.HandlerFunc) string {
	t.Helper()
	e, err := newEndpoint(t.Context(), "listen", "127.0.0.1:0", nil, func(context.Context, string, *slog.Logger) {})
	require.NoError(t, err)
	e.bodyTimeout = bodyTimeout
	logger := slog.New(slog.DiscardHandler)
	ended := make(chan error, 1)
	go func() { ended <- e.serve(context.WithoutCancel(t.Context()), handler, logger) }()
	t.Cleanup(func() {
		require.NoError(t, e.shutdown(context.WithoutCancel(t.Context()), logger))
		require.NoError(t, <-ended)
	})
	return e.listener.Addr().String()
}

// reply is an answer that came soon and whole.
type reply struct {
	status int
	last   bool // on its connection
}

func heard(t *testing.T, from *bufio.Reader) reply {
	t.Helper()
	began := time.Now()
	answer, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	_, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, time.Since(began), bodyTimeout/2)
	return reply{answer.StatusCode, answer.Close}
}

// refuse answers without reading, as the API answers a wrong key.
func refuse(w http.ResponseWriter, _ *http.Request) {
	api.WriteJSON(w, http.StatusUnauthorized, "no")
}

const batch = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"

func TestAnAnswerDoesNotWaitForTheRequest(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an open stream":        batch + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"an open, silent one":   batch + "Transfer-Encoding: chunked\r\n\r\n",
		"half of a body":        batch + "Content-Length: 1000\r\n\r\nabc",
		"one that asks first":   batch + "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"a whole, small body":   batch + "Content-Length: 3\r\n\r\nabc",
		"a body beyond bounds":  batch + "Content-Length: 9000000\r\n\r\n" + strings.Repeat("x", drainBytes/2),
		"a request after it":    batch + "Content-Length: 40\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"an ordinary that asks": strings.Replace(batch, "x-ndjson", "json", 1) + "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"half of chunks":        strings.Replace(batch, "x-ndjson", "json", 1) + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"half of an ordinary":   strings.Replace(batch, "x-ndjson", "json", 1) + "Content-Length: 1000\r\n\r\nabc",
		"too much for ordinary": strings.Replace(batch, "x-ndjson", "json", 1) + "Content-Length: 200000\r\n\r\n" + strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, from := rawtest.Send(t, serving(t, bodyTimeout, refuse), text)
			answer := heard(t, from)
			require.Equal(t, http.StatusUnauthorized, answer.status)
			require.True(t, answer.last, "the rest must not be the next request")
			// The connection ends soon, and nothing else is answered on it.
			_, err := from.ReadByte()
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Error(t, err)
		})
	}
}

// A request that stops halfway is given up after the time for its body, once.
func TestAHalfSentRequestIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	address := serving(t, 300*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the body ended with %v", err)
		}
		api.WriteJSON(w, http.StatusRequestTimeout, "late")
	})
	conn, from := rawtest.Send(t, address, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\nabc")
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	require.Equal(t, http.StatusRequestTimeout, heard(t, from).status)
	_, err := from.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}

// A client that sends all of a body before it reads still gets the answer.
func TestASmallBodyLosesNoAnswer(t *testing.T) {
	t.Parallel()
	address := serving(t, bodyTimeout, refuse)
	for range 20 {
		conn, from := rawtest.Send(t, address, batch+"Content-Length: 200000\r\n\r\n")
		for range 20 {
			_, err := io.WriteString(conn, strings.Repeat("x", 10_000))
			require.NoError(t, err)
		}
		require.Equal(t, http.StatusUnauthorized, heard(t, from).status)
	}
}

func TestAConnectionIsKeptAfterAWholeRequest(t *testing.T) {
	t.Parallel()
	address := serving(t, bodyTimeout, refuse)
	for name, text := range map[string]string{
		"a body":  strings.Replace(batch, "x-ndjson", "json", 1) + "Content-Length: 3\r\n\r\nabc",
		"chunks":  strings.Replace(batch, "x-ndjson", "json", 1) + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"no body": "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, from := rawtest.Send(t, address, text)
			for range 3 {
				require.False(t, heard(t, from).last)
				_, err := io.WriteString(conn, text)
				require.NoError(t, err)
			}
		})
	}
}
