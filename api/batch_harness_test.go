package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// batches is a server that batches are sent to.
type batches struct {
	*testing.T

	store    *miniredis.Miniredis
	server   *httptest.Server
	stopping chan struct{}
	client   *http.Client
	at       time.Time // a time to send at, with a day free around it
}

// newBatches starts a server on an embedded store of its own, until the end of
// the test.
func newBatches(t *testing.T, limits api.Limits) *batches {
	t.Helper()
	store, client := redistest.Embedded(t)
	b := &batches{
		T: t, store: store, stopping: make(chan struct{}),
		at:     time.Now().Add(72 * time.Hour).UTC().Truncate(24 * time.Hour),
		client: &http.Client{Transport: &http.Transport{}},
	}
	_, o, end, err := apitest.Open(t.Context(), client, submit.Options{Batch: true})
	require.NoError(t, err)
	o.Limits, o.Now, o.Stopping = limits, time.Now, b.stopping
	handler, err := api.New(o)
	require.NoError(t, err)
	b.server = httptest.NewServer(handler)
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		b.server.Close() // waits for what is being answered
		require.NoError(t, end())
	})
	return b
}

// line is a message as a line; each n is a minute of its own.
func (b *batches) line(user string, n int) string {
	at := b.at.Add(time.Duration(n) * time.Minute).Format(time.RFC3339)
	return fmt.Sprintf(`{"id":"%s-%d","user":%[1]q,"send_at":%[3]q,"title":"t"}`+"\n", user, n, at)
}

// batchReply is an answer with a body that may still be coming.
type batchReply struct {
	status int
	proto  string
	header http.Header
	body   io.Reader
}

func (b *batches) post(body io.Reader) batchReply {
	b.Helper()
	return b.postTo(batchPath, body)
}

// postTo sends lines to a path.
func (b *batches) postTo(path string, body io.Reader) batchReply {
	b.Helper()
	return postLines(b, b.client, b.server.URL+path, "", body)
}

// postLines sends lines. The key "" is none.
func postLines(tb testing.TB, client *http.Client, url, key string, body io.Reader) batchReply {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, body)
	require.NoError(tb, err)
	request.Header.Set("Content-Type", "application/x-ndjson")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(request)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = response.Body.Close() })
	return batchReply{response.StatusCode, response.Proto, response.Header, response.Body}
}

// outcomes are those of a batch that was answered.
func (b *batches) outcomes(reply batchReply) []message.Outcome {
	b.Helper()
	require.Equal(b, http.StatusOK, reply.status)
	require.Equal(b, "application/x-ndjson", reply.header.Get("Content-Type"))
	require.Equal(b, "no", reply.header.Get("X-Accel-Buffering"), "proxies would collect the lines")
	require.NotEmpty(b, reply.header.Get("X-Request-Id"))
	var all []message.Outcome
	decoder := json.NewDecoder(reply.body)
	for decoder.More() {
		var o message.Outcome
		require.NoError(b, decoder.Decode(&o))
		all = append(all, o)
	}
	return all
}

// accepts requires that a single message is accepted while batches are open.
func (b *batches) accepts(user string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.server.URL+"/v1/messages",
		strings.NewReader(b.line(user, 0)))
	require.NoError(b, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := b.client.Do(request)
	require.NoError(b, err)
	defer response.Body.Close()
	require.Equal(b, http.StatusCreated, response.StatusCode)
}

// acceptsBatch requires that a batch is answered, once there is a place for it.
func (b *batches) acceptsBatch(user string) {
	b.Helper()
	require.Eventually(b, func() bool {
		reply := b.post(strings.NewReader(b.line(user, 0)))
		return reply.status == http.StatusOK && len(b.outcomes(reply)) == 1
	}, waitFor, 20*time.Millisecond)
}

const waitFor = time.Minute

// talk is a batch in which lines and answers take turns.
type talk struct {
	testing.TB

	lines   *io.PipeWriter
	reply   batchReply
	answers *bufio.Reader
}

// talkTo begins one on a server with a line. The key "" is none.
func talkTo(tb testing.TB, client *http.Client, url, key, line string) *talk {
	tb.Helper()
	body, lines := io.Pipe()
	tb.Cleanup(func() { _ = lines.Close() })
	go func() { _, _ = io.WriteString(lines, line) }()
	reply := postLines(tb, client, url, key, body)
	return &talk{TB: tb, lines: lines, reply: reply, answers: bufio.NewReader(reply.body)}
}

// talk begins a batch with a line, to which there is an answer.
func (b *batches) talk(line string) *talk {
	b.Helper()
	return b.talkTo(batchPath, line)
}

// talkTo is talk with another path.
func (b *batches) talkTo(path, line string) *talk {
	b.Helper()
	t := talkTo(b, b.client, b.server.URL+path, "", line)
	require.Equal(b, http.StatusOK, t.reply.status)
	return t
}

func (t *talk) say(line string) {
	t.Helper()
	_, err := io.WriteString(t.lines, line)
	require.NoError(t, err)
}

func (t *talk) hear() message.Outcome {
	t.Helper()
	var o message.Outcome
	text, err := t.answers.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &o))
	return o
}

// ends requires that there is no other answer.
func (t *talk) ends() {
	t.Helper()
	rest, err := io.ReadAll(t.answers)
	require.NoError(t, err)
	require.Empty(t, rest)
}

// connect opens a connection for requests that no HTTP client sends.
func (b *batches) connect() *net.TCPConn {
	b.Helper()
	address, err := net.ResolveTCPAddr("tcp", b.server.Listener.Addr().String())
	require.NoError(b, err)
	conn, err := net.DialTCP("tcp", nil, address)
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	require.NoError(b, conn.SetDeadline(time.Now().Add(waitFor)))
	return conn
}

const batchHead = "POST /v1/messages/batch HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-ndjson\r\n"

// send writes to a connection.
func (b *batches) send(conn net.Conn, text string) {
	b.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(b, err)
}

// receive reads the answer on a connection.
func (b *batches) receive(conn net.Conn) batchReply {
	b.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(b, err)
	b.Cleanup(func() { _ = response.Body.Close() })
	return batchReply{response.StatusCode, response.Proto, response.Header, response.Body}
}

func chunk(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
