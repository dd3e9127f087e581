package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// realAPI is the API on the embedded store. Its clock is at 11:00 on 2026-11-22.
type realAPI struct {
	*client.Client

	server *httptest.Server
}

// startRealAPI starts one. It calls closing with whatever is to be done in the end.
func startRealAPI(ctx context.Context, closing func(func())) (*realAPI, error) {
	store := miniredis.NewMiniRedis()
	if err := store.Start(); err != nil {
		return nil, err
	}
	closing(store.Close)
	store.SetTime(at("2026-11-22T11:00:00Z"))
	connections := redis.NewClient(redistest.PipedOptions(store))
	closing(func() { _ = connections.Close() })
	_, o, end, err := apitest.Open(ctx, connections, submit.Options{})
	if err != nil {
		return nil, err
	}
	closing(func() { _ = end() })
	o.Now = time.Now
	handler, err := api.New(o)
	if err != nil {
		return nil, err
	}
	r := &realAPI{server: httptest.NewServer(handler)}
	closing(r.server.Close)
	if r.Client, err = client.New(r.server.URL, client.Options{Attempts: 1}); err != nil {
		return nil, err
	}
	closing(r.CloseIdleConnections)
	return r, nil
}

func realAPIOf(t *testing.T) *realAPI {
	t.Helper()
	r, err := startRealAPI(t.Context(), t.Cleanup)
	require.NoError(t, err)
	return r
}

func TestUsersOfAnyNameOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	for _, user := range []string{
		"/", "//", "a/b", "100%", "%2F", "a?b", "a#b", "a b", "a+b", "ünïcode", ".", "..", "../..", "a:b@c", "a&b=c;d", `a\b`, "https://example.com/?q=1#f", "/a", "a/",
	} {
		m := client.Message{ID: "a", User: user, SendAt: at("2026-11-22T11:11:11Z"), Title: "t"}
		_, err := c.Submit(t.Context(), m)
		require.NoError(t, err, "%q", user)
		status, err := c.Message(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
		require.Equal(t, user, status.User)
		for listed, err := range c.ListMessages(t.Context(), user, client.ListMessagesQuery{}) {
			require.NoError(t, err, "%q", user)
			require.Equal(t, user, listed.User)
		}
		_, err = c.Usage(t.Context(), user, client.UsageQuery{})
		require.NoError(t, err, "%q", user)
		_, err = c.CancelMessage(t.Context(), user, "a")
		require.NoError(t, err, "%q", user)
	}
}

const (
	problemJSON = "application/problem+json"
	plainJSON   = "application/json"
	ndjson      = "application/x-ndjson"
)

// serve starts a server and returns a client of it; both end with the test.
func serve(t *testing.T, o client.Options, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, o)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// once is for tests of one answer: nothing is repeated.
func once() client.Options { return client.Options{Attempts: 1} }

// reply answers with a status and a body of a type.
func reply(w http.ResponseWriter, contentType string, status int, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}

// cutAfter writes something and then resets the connection.
func cutAfter(t *testing.T, w http.ResponseWriter, written string) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Errorf("hijack: %v", err)
		return
	}
	_, _ = connection.Write([]byte(written))
	if tcp, ok := connection.(*net.TCPConn); ok && written == "" {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// acceptedBody has a member that a later API may have.
const acceptedBody = `{"outcome":"accepted","id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z","later":{"member":1}}`

func accept(w http.ResponseWriter) {
	reply(w, plainJSON+"; charset=utf-8", http.StatusCreated, acceptedBody)
}

func at(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// table is a message that every test may submit.
func table() client.Message {
	return client.Message{ID: "a", User: "alice", SendAt: at("2026-11-22T11:11:11Z"), Title: "Your table is ready"}
}

type counted struct{ atomic.Int32 }

func (c *counted) next() int { return int(c.Add(1)) }

// wire is a time as answers have it.
func wire(at time.Time) client.Time { return client.Time{Time: at} }
