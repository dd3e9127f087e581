package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// One place for batches: each of these tests sees by it that a broken one is
// over, goroutines and all.
func oneBatch(timeout time.Duration) api.Limits { return api.Limits{Streams: 1, Timeout: timeout} }

// flood sends lines and reads no answers, until it can't send any more. It
// returns how many bytes it has sent.
func (b *batches) flood() (sent *atomic.Int64) {
	b.Helper()
	conn := b.connect()
	require.NoError(b, conn.SetReadBuffer(4096)) // so that its way back is full soon
	require.NoError(b, conn.SetDeadline(time.Time{}))
	b.send(conn, batchHead+"Transfer-Encoding: chunked\r\n\r\n")
	text := chunk(strings.Repeat("{}\n", 1000))
	sent = new(atomic.Int64)
	go func() {
		for {
			n, err := io.WriteString(conn, text)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	return sent
}

func TestAClientThatDoesNotReadItsAnswers(t *testing.T) {
	t.Parallel()
	b := newBatches(t, oneBatch(time.Second))
	sent := b.flood()
	b.accepts("a")
	b.acceptsBatch("b")
	require.Less(t, sent.Load(), int64(32<<20), "it was not read from either")
}

// Told to stop, the server does not wait for as long as such a client may take
// otherwise.
func TestAServerThatStopsDoesNotWaitForAReader(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := newBatches(t, oneBatch(time.Hour))
	sent := b.flood()
	stuck := func() bool {
		before := sent.Load()
		time.Sleep(200 * time.Millisecond)
		return before > 0 && sent.Load() == before
	}
	require.Eventually(t, stuck, waitFor, time.Millisecond)
	require.Equal(t, "1 batches are being answered, and no more are at a time: try again in a moment", b.refusal())
	close(b.stopping)
	require.Eventually(t, func() bool { return b.refusal() == "this server stops: go on with line 1" }, 2*waitFor, 50*time.Millisecond)
}

// refusal returns the reason for refusing a batch.
func (b *batches) refusal() string {
	b.Helper()
	reply := b.post(strings.NewReader("{}\n"))
	require.Equal(b, http.StatusServiceUnavailable, reply.status)
	var problem api.Problem
	require.NoError(b, json.NewDecoder(reply.body).Decode(&problem))
	return problem.Detail
}

func TestAClientThatGoesAway(t *testing.T) {
	t.Parallel()
	b := newBatches(t, oneBatch(time.Minute))
	for name, text := range map[string]string{
		"before a line":      "",
		"within a line":      chunk(`{"user":`),
		"between lines":      chunk(b.line("a", 0)),
		"before its answers": chunk(strings.Repeat("{}\n", 50_000)),
		"within a chunk":     "ff\r\n",
	} {
		for _, reset := range []bool{false, true} {
			conn := b.connect()
			b.send(conn, batchHead+"Transfer-Encoding: chunked\r\n\r\n"+text)
			if reset {
				require.NoError(t, conn.SetLinger(0))
			}
			require.NoError(t, conn.Close(), name)
			b.acceptsBatch("b")
		}
	}
}

// A client that has sent everything may close that half of the connection.
func TestAHalfClosedConnectionIsAnswered(t *testing.T) {
	t.Parallel()
	b := newBatches(t, oneBatch(time.Minute))
	lines := strings.Repeat(b.line("a", 0)+b.line("b", 0), 300)
	conn := b.connect()
	go func() {
		_, _ = io.WriteString(conn, batchHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(lines)+"0\r\n\r\n")
		_ = conn.CloseWrite()
	}()
	require.Len(t, b.outcomes(b.receive(conn)), 600)
	b.acceptsBatch("c")
}

func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := newBatches(t, oneBatch(time.Minute))
	conn := b.connect()
	b.send(conn, batchHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(b.line("a", 0)+b.line("a", 1)+`{"user":`))
	response := b.receive(conn)
	require.NoError(t, conn.CloseWrite())
	outcomes := b.outcomes(response)
	require.Len(t, outcomes, 3)
	require.Equal(t, message.Accepted, outcomes[1].Outcome)
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Line: 3, Code: fault.CodeInvalidField, Field: "body",
		Detail: `the body ended too early (unexpected EOF): go on with line 3`,
	}, outcomes[2])

	none := b.connect()
	b.send(none, batchHead+"Content-Length: 100\r\n\r\n{")
	require.NoError(t, none.CloseWrite())
	require.Equal(t, http.StatusBadRequest, b.receive(none).status)
	b.acceptsBatch("b")
}

// Each line may take its time, but not more.
func TestALineThatNeverEnds(t *testing.T) {
	sendlimittest.Long(t) // a server that has no processor for long closes before its answer is read
	t.Parallel()
	b := newBatches(t, oneBatch(2*time.Second))
	talk := b.talk(b.line("a", 0))
	require.Equal(t, message.Accepted, talk.hear().Outcome)
	for n := 2; n < 5; n++ {
		time.Sleep(800 * time.Millisecond)
		talk.say(b.line("a", n))
		require.Equal(t, message.Accepted, talk.hear().Outcome)
	}
	stop := trickle(talk.lines)
	require.Equal(t, message.Outcome{
		Outcome: message.Errored, Code: fault.CodeUnavailable, Line: 5, Detail: "no whole line came within 2s: go on with line 5",
	}, talk.hear())
	talk.ends()
	stop()

	conn := b.connect()
	b.send(conn, batchHead+"Transfer-Encoding: chunked\r\n\r\n")
	require.Equal(t, http.StatusRequestTimeout, b.receive(conn).status)
	b.acceptsBatch("b")
}

// trickle writes a byte now and then until stop, or until it can't.
func trickle(w io.Writer) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// Data that a client pipelines after a batch that ended early is not its next request.
func TestTheRestOfABatchIsNoRequest(t *testing.T) {
	t.Parallel()
	b := newBatches(t, oneBatch(time.Minute))
	b.store.SetError("LOADING Redis is loading the dataset in memory")
	conn := b.connect()
	b.send(conn, batchHead+"Content-Length: 1000000\r\n\r\n"+b.line("a", 0)+
		"GET /v1/stats HTTP/1.1\r\nHost: h\r\n\r\nGET /v1/stats HTTP/1.1\r\nHost: h\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = reader.ReadByte()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection was closed")
	b.store.SetError("")
	b.acceptsBatch("a")
}
