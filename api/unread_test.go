package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// unreadBody records whether it is read.
type unreadBody struct {
	*strings.Reader

	read bool
}

func (b *unreadBody) Read(p []byte) (int, error) {
	b.read = true
	return b.Reader.Read(p)
}

func (b *unreadBody) Close() error { return nil }

// A caller without access can't make the server read a body.
func TestNoBodyIsReadBeforeTheCallerIsKnown(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, locked)
	// ask reports whether the body of a request was read.
	ask := func(o operation, key string) (status int, read bool) {
		target := strings.NewReplacer("{", "", "}", "").Replace(o.path)
		if o.path == "/v1/events" { // whose stream would not end
			target += "?follow=false"
		}
		body := &unreadBody{Reader: strings.NewReader("{}")}
		q := httptest.NewRequestWithContext(t.Context(), o.method, target, body)
		q.Header.Set("Content-Type", "application/json")
		if o.ofLines() {
			q.Header.Set("Content-Type", "application/x-ndjson")
		}
		if key != "" {
			q.Header.Set("Authorization", "Bearer "+key)
		}
		got := httptest.NewRecorder()
		r.handler.ServeHTTP(got, q)
		return got.Code, body.read
	}
	reader, all, reads := r.key("reader", accounts.ScopeRead), r.key("op", accounts.ScopeAdmin), 0
	for _, o := range operations() {
		for _, key := range []string{"", "sk_wrong"} {
			status, read := ask(o, key)
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, status, "%s %s", o.method, o.path)
			require.False(t, read, "%s %s", o.method, o.path)
		}
		if scopeOf(o) != accounts.ScopeRead {
			status, read := ask(o, reader)
			require.Equal(t, http.StatusForbidden, status, "%s %s", o.method, o.path)
			require.False(t, read, "%s %s", o.method, o.path)
		}
		if _, read := ask(o, all); read {
			reads++
		}
	}
	require.Greater(t, reads, 5, "the bodies of a caller who may are read")
}

// The server does not read the body of a request that it refuses anyway.
func TestNoBodyIsReadOfWhatIsRefusedAnyway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range api.DefaultStreams / 4 {
		require.Equal(t, http.StatusOK, r.opens("", junkLine).reply.status)
	}
	const json, lines = "application/json", "application/x-ndjson"
	for _, row := range []struct {
		status                            int
		target, contentType, host, origin string
	}{
		{http.StatusUnsupportedMediaType, messagesPath, "text/plain", "a", ""},
		{http.StatusMethodNotAllowed, "/v1/stats", json, "a", ""},
		{http.StatusNotFound, "/nothing", json, "a", ""},
		{http.StatusForbidden, batchPath, lines, "api.example.org", ""},
		{http.StatusForbidden, batchPath, lines, "a", "https://evil.example"},
		{http.StatusTooManyRequests, batchPath, lines, "a", ""},
	} {
		body := &unreadBody{Reader: strings.NewReader("{}")}
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, row.target, body)
		q.Host = row.host
		q.Header.Set("Content-Type", row.contentType)
		if row.origin != "" {
			q.Header.Set("Origin", row.origin)
		}
		got := httptest.NewRecorder()
		r.handler.ServeHTTP(got, q)
		require.Equal(t, row.status, got.Code, "%+v: %s", row, got.Body)
		require.False(t, body.read, "%+v", row)
	}
}
