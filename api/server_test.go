package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestARequestHasAnID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, given := range []struct {
		id   string
		kept bool
	}{
		{"order-17", true},
		{"A:b_c.9", true},
		{strings.Repeat("x", 128), true},
		{strings.Repeat("x", 129), false},
		{"", false},
		{"two words", false},
		{`"><script>`, false},
		{"ünïcode", false},
	} {
		got := r.send(request{
			method: http.MethodGet, target: "/v1/users/alice/messages/a", header: http.Header{"X-Request-Id": {given.id}},
		})
		p := r.problem(http.StatusNotFound, got)
		if given.kept {
			require.Equal(t, given.id, p.Instance)
			require.Contains(t, r.log.String(), "request_id="+given.id)
		} else {
			require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-`, p.Instance, "a UUIDv7 for %q", given.id)
		}
	}
}

// The log names neither senders nor receivers.
func TestTheLogNamesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.accepted(`{"user":"alice","id":"order-17","send_at":"` + on22("11:11:11") + `","title":"secret"}`)
	r.get("/v1/users/alice/messages/order-17")
	r.get("/v1/users/alice/messages?from=tomorrow")
	r.get("/nothing/for/alice")
	logged := r.log.String()
	require.Contains(t, logged, `route="POST /v1/messages" status=201 duration=`)
	require.Contains(t, logged, `route="GET /v1/users/{user}/messages/{id}" status=200`)
	require.Contains(t, logged, `route="GET /v1/users/{user}/messages" status=422`)
	require.Contains(t, logged, `route="" status=404`)
	for _, private := range []string{"alice", "order-17", "secret"} {
		require.NotContains(t, logged, private)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, target := range []string{
		"/", "/v1", "/v1/", "/v1/messages/", "/v1/nothing", "/v1/users/alice/nothing", "/v1/users//messages", "/v1//stats", "/v1/./stats",
		"/v1/users/../messages", "/v1%2Fstats", "/healthz", "/problems/nothing",
	} {
		p := r.problem(http.StatusNotFound, r.get(target))
		require.Equal(t, fault.CodeNotFound, p.Code, target)
	}
	for _, wrong := range []struct{ method, target, allow string }{
		{http.MethodPut, "/v1/messages", "GET, HEAD, POST"},
		{http.MethodPost, "/v1/users/alice/messages/a", "DELETE, GET, HEAD, PATCH, PUT"},
		{http.MethodPost, "/v1/stats", "GET, HEAD"},
		{http.MethodOptions, "/v1/messages/batch", "GET, HEAD, POST"}, // "batch" may be a message's id
		{http.MethodDelete, "/docs", "GET, HEAD"},
	} {
		got := r.send(request{method: wrong.method, target: wrong.target})
		require.Equal(t, wrong.allow, got.header.Get("Allow"), "%s %s", wrong.method, wrong.target)
		require.Equal(t, fault.Code("method_not_allowed"), r.problem(http.StatusMethodNotAllowed, got).Code)
	}
	head := r.send(request{method: http.MethodHead, target: "/v1/stats"})
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.body)
}

// The type of a problem leads to its documentation.
func TestAProblemIsExplained(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.problem(http.StatusNotFound, r.get("/nothing"))
	got := r.get(p.Type)
	require.Equal(t, http.StatusSeeOther, got.status)
	page, anchor, _ := strings.Cut(got.header.Get("Location"), "#")
	require.Contains(t, string(r.get(page).body), `id="`+anchor+`"`)
}

// What leads to this server has the path below which a proxy serves it.
func TestLinksBeginWithTheBasePath(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.BasePath = "/push" })
	got := r.post("/v1/messages", `{"user":"alice","id":"a","send_at":"`+on22("11:11:11")+`","title":"Hi"}`)
	require.Equal(t, "/push/v1/users/alice/messages/a", got.header.Get("Location"))
	require.Equal(t, "/push/docs#problem-not_found", r.get("/problems/not_found").header.Get("Location"))
	require.Contains(t, string(r.get("/openapi.json").body), `"url": "/push"`)
	require.NotRegexp(t, `(?:href|src)="/`, string(r.get("/docs").body), "the page's links are relative")
}

// The pages are large. They are compressed for clients that accept it, and not sent again to
// clients that have them.
func TestTheDocumentationIsCompressed(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	for _, target := range []string{"/docs", docsStyle, docsScript, "/openapi.json", "/openapi.yaml"} {
		ask := func(name, value string) reply {
			return r.send(request{method: http.MethodGet, target: target, header: http.Header{name: {value}}})
		}
		plain, small := ask("Accept-Encoding", "identity"), ask("Accept-Encoding", "br, gzip;q=0.5")
		require.Equal(t, "gzip", small.header.Get("Content-Encoding"), target)
		require.Less(t, len(small.body), len(plain.body)/2)
		whole, err := gzip.NewReader(bytes.NewReader(small.body))
		require.NoError(t, err)
		text, err := io.ReadAll(whole)
		require.NoError(t, err)
		require.Equal(t, plain.body, text)
		if target == "/docs" { // which a telephone loads at once
			require.Less(t, len(small.body), 64<<10)
			require.Less(t, len(text), 512<<10)
			require.NotContains(t, string(text), "<details open", "everything is folded")
		}
		require.Empty(t, ask("Accept-Encoding", "gzip;q=0").header.Get("Content-Encoding"))
		for _, got := range []reply{plain, small} {
			require.Equal(t, "Accept-Encoding", got.header.Get("Vary"))
			known := ask("If-None-Match", got.header.Get("ETag"))
			require.Equal(t, http.StatusNotModified, known.status)
			require.Empty(t, known.body)
		}
		require.Equal(t, http.StatusOK, ask("If-None-Match", `"other"`).status)
	}
}

// With as many requests as there may be in hand, others are told to come again,
// and batches have places of their own.
func TestRequestsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	r := newRig(t, measured, func(o *api.Options) {
		o.Limits.InFlight, o.Limits.Streams = 2, 1
		o.Stats = func(context.Context) (message.Stats, error) {
			entered <- struct{}{}
			<-leave
			return message.Stats{}, nil
		}
	})
	statuses := make(chan int)
	for range 2 {
		go func() { statuses <- r.get("/v1/stats").status }()
		<-entered
	}
	got := r.get("/v1/users/alice/usage")
	require.Equal(t, fault.CodeUnavailable, r.problem(http.StatusServiceUnavailable, got).Code)
	require.Equal(t, "1", got.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, r.get("/metrics").status, "which take no place")
	ndjson := http.Header{"Content-Type": {"application/x-ndjson"}}
	require.Equal(t, http.StatusOK, r.send(request{
		http.MethodPost, "/v1/messages/batch", `{"user":"alice","send_at":"now","title":"Hi"}`, ndjson,
	}).status)
	close(leave)
	require.Equal(t, http.StatusOK, <-statuses)
	require.Equal(t, http.StatusOK, <-statuses)
	require.Equal(t, http.StatusOK, r.get("/v1/users/alice/usage").status)
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) {
		o.Stats = func(context.Context) (message.Stats, error) { panic("the drawer is stuck") }
	})
	p := r.problem(http.StatusInternalServerError, r.get("/v1/stats"))
	require.Equal(t, fault.Code("internal"), p.Code)
	require.NotContains(t, p.Detail, "drawer")
	require.Contains(t, r.log.String(), "the drawer is stuck")
	require.Contains(t, r.log.String(), "request_id="+p.Instance)
	require.Equal(t, http.StatusOK, r.get("/v1/users/alice/usage").status, "the server goes on")
}

// An answer that has begun can only be broken off.
func TestAPanicInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) {
		o.Before = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "one half")
				_ = http.NewResponseController(w).Flush()
				panic("the other is missing")
			})
		}
	})
	sent, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/stats", http.NoBody)
	require.NoError(t, err)
	got, err := r.http.Do(sent)
	require.NoError(t, err)
	defer func() { require.NoError(t, got.Body.Close()) }()
	text, err := io.ReadAll(got.Body)
	require.Error(t, err)
	require.Equal(t, "one half", string(text))
	require.Contains(t, r.log.String(), "the other is missing")
}

// An error that has no code may say anything, so the caller gets none of it.
func TestAnUnexpectedErrorStaysHere(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) {
		o.Stats = func(context.Context) (message.Stats, error) {
			return message.Stats{}, errors.New("password is hunter2")
		}
	})
	p := r.problem(http.StatusInternalServerError, r.get("/v1/stats"))
	require.NotContains(t, p.Detail, "hunter2")
	require.Contains(t, r.log.String(), "password is hunter2")
}

// Options.Before does not apply to the documentation.
func TestBeforeTheOperations(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, func(o *api.Options) {
		o.Before = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				switch q.Header.Get("X-Pass") {
				case "key":
					next.ServeHTTP(w, q)
				case "busy":
					w.Header().Set("Retry-After", "7")
					api.WriteProblem(w, message.Outcome{Outcome: message.Refused, Code: "rate_limited", Detail: "too many"})
				default:
					api.WriteProblem(w, message.Outcome{Outcome: message.Errored, Code: "unauthorized", Detail: "no key"})
				}
			})
		}
	})
	with := func(key, target string) reply {
		return r.send(request{method: http.MethodGet, target: target, header: http.Header{"X-Pass": {key}}})
	}
	// Escaped, an address is still under /v1/.
	for _, target := range []string{"/v1/stats", "/%76%31/stats", "/v1/nothing"} {
		r.problem(http.StatusUnauthorized, r.get(target))
	}
	require.Equal(t, http.StatusOK, with("key", "/v1/stats").status)
	busy := with("busy", "/v1/stats")
	r.problem(http.StatusTooManyRequests, busy)
	require.Equal(t, "7", busy.header.Get("Retry-After"))
	for _, target := range []string{"/docs", "/openapi.json"} {
		require.Equal(t, http.StatusOK, r.get(target).status)
	}
}

// A caller that has sent all and closes its half of the connection still waits
// for the answer.
func TestACallerThatHasSentAllIsAnswered(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	r := newRig(t, func(o *api.Options) {
		o.Before = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				body, err := io.ReadAll(q.Body)
				if err == nil {
					q.Body = io.NopCloser(strings.NewReader(string(body)))
					<-q.Context().Done() // the server has seen the end
					close(read)
				}
				next.ServeHTTP(w, q)
			})
		}
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	body := `{"user":"alice","send_at":"` + on22("11:11:11") + `","title":"Hi"}`
	_, err = fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	half, ok := conn.(*net.TCPConn)
	require.True(t, ok)
	require.NoError(t, half.CloseWrite())
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	<-read
	require.Contains(t, string(got), "HTTP/1.1 201 Created")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := newRig(t).options
	for field, spoil := range map[string]func(*api.Options){
		"parts":               func(o *api.Options) { o.Parts = api.Parts{} },
		"now":                 func(o *api.Options) { o.Now = nil },
		"body":                func(o *api.Options) { o.Limits.Body = -1 },
		"idle":                func(o *api.Options) { o.Limits.Idle = -1 },
		"streams_per_account": func(o *api.Options) { o.Limits.StreamsPerAccount = -1 },
		"in_flight":           func(o *api.Options) { o.Limits.InFlight = -1 },
		"streams":             func(o *api.Options) { o.Limits.Streams = -1 },
		"timeout":             func(o *api.Options) { o.Limits.Timeout = -1 },
	} {
		options := good
		spoil(&options)
		_, err := api.New(options)
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
}
