package client_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

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
