package command

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/rawtest"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// asked sends the text of a request and returns its answer, whose body may still come.
func asked(t *testing.T, address, text string) (status int, header http.Header, body io.Reader) {
	t.Helper()
	_, from := rawtest.Send(t, address, text)
	answer, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.StatusCode, answer.Header, answer.Body
}

// host returns the address of a worker's API.
func (r *running) host(t *testing.T) string {
	t.Helper()
	base, err := url.Parse(r.attribute(t, "API endpoint", "url"))
	require.NoError(t, err)
	return base.Host
}

const openBatch = "POST /v1/messages/batch HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"

// A stream that is refused learns it while its body is open.
func TestARefusedStreamIsAnsweredAtOnce(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	worker := start(t, nil).started(t)
	address := worker.host(t)
	refused := func(header string, status int) {
		t.Helper()
		began := time.Now()
		answered, _, body := asked(t, address, openBatch+header+"\r\n")
		require.Equal(t, status, answered)
		var p api.Problem
		require.NoError(t, json.NewDecoder(body).Decode(&p))
		require.Equal(t, status, p.Status)
		require.Less(t, time.Since(began), 2*time.Second, p.Detail)
	}
	refused("Host: a\r\nAuthorization: Bearer sk_wrong\r\n", http.StatusUnauthorized)
	refused("Host: api.example.org\r\n", http.StatusForbidden)
	refused("Host: a\r\nOrigin: https://evil.example\r\n", http.StatusForbidden)
	for range api.DefaultStreams / 4 {
		// One line each: the answer to it shows that the stream runs.
		answered, _, _ := asked(t, address, openBatch+"Host: a\r\n\r\n3\r\n{}\n\r\n")
		require.Equal(t, http.StatusOK, answered)
	}
	refused("Host: a\r\n", http.StatusTooManyRequests)
	require.NoError(t, worker.end(t))
}

// A request that is refused whatever its body says does not wait for the body. Requests
// whose bodies come slowly take no place among those that are being answered.
func TestAHalfSentRequestIsRefusedAtOnce(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	worker := start(t, nil).started(t)
	address := worker.host(t)
	const half = " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
	var slow []net.Conn
	for range api.DefaultInFlight {
		conn, _ := rawtest.Send(t, address, "POST /v1/messages"+half+"Content-Type: application/json\r\n\r\n{")
		slow = append(slow, conn)
	}
	for status, text := range map[int]string{
		http.StatusUnauthorized:         "POST /v1/messages" + half + "Content-Type: application/json\r\nAuthorization: Bearer sk_wrong\r\n\r\n{",
		http.StatusUnsupportedMediaType: "POST /v1/messages" + half + "Content-Type: text/plain\r\n\r\n{",
		http.StatusMethodNotAllowed:     "POST /v1/stats" + half + "Content-Type: application/json\r\n\r\n{",
		http.StatusNotFound:             "POST /nothing" + half + "Content-Type: application/json\r\n\r\n{",
	} {
		began := time.Now()
		answered, _, _ := asked(t, address, text)
		require.Equal(t, status, answered)
		require.Less(t, time.Since(began), 2*time.Second)
	}
	for _, conn := range slow {
		require.NoError(t, conn.Close())
	}
	require.NoError(t, worker.end(t))
}

func TestTheClientLearnsAtOnceThatItsBatchIsRefused(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	c, err := client.New("http://"+worker.host(t), client.Options{Key: "sk_wrong"})
	require.NoError(t, err)
	began, refused := time.Now(), false
	for _, err := range c.SubmitBatch(t.Context(), func(yield func(client.Message) bool) {
		// Slow messages without an end: the stream is open when it is refused.
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for yield(client.Message{User: "alice", SendAt: time.Now().Add(time.Hour), Title: "Hi"}) {
			<-tick.C
		}
	}) {
		var answered *client.ResponseError
		require.ErrorAs(t, err, &answered)
		require.Equal(t, fault.CodeUnauthorized, answered.Code)
		refused = true
	}
	require.True(t, refused)
	require.Less(t, time.Since(began), 2*time.Second)
	require.NoError(t, worker.end(t))
}
