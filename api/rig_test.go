package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// now is the time on the store's clock and on this one.
func now() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// on22 is a time of the 22nd.
func on22(clock string) string { return "2026-11-22T" + clock + "Z" }

// rig is an API on its own store, behind a server.
type rig struct {
	testing.TB

	store   *miniredis.Miniredis
	client  *redis.Client
	options api.Options

	accounts *accounts.Accounts
	handler  http.Handler
	url      string
	http     *http.Client
	log      *output.Buffer

	end     func() error // of options
	servers []*httptest.Server
}

// newRig starts an API on a store that has the default rules. Package testing keeps what the cleanups
// of a test refer to until all tests have ended, which would be hundreds of stores. So they refer only
// to the rig, and the last one empties it.
func newRig(tb testing.TB, options ...func(*api.Options)) *rig {
	tb.Helper()
	r := &rig{TB: tb, store: miniredis.NewMiniRedis(), log: new(output.Buffer)}
	tb.Cleanup(func() { *r = rig{} })
	require.NoError(tb, r.store.Start())
	tb.Cleanup(func() { r.store.Close() })
	r.store.SetTime(now())
	r.client = redis.NewClient(redistest.PipedOptions(r.store))
	tb.Cleanup(func() { require.NoError(tb, r.client.Close()) })
	_, o, end, err := apitest.Open(tb.Context(), r.client, submit.Options{})
	require.NoError(tb, err)
	r.end = end
	tb.Cleanup(func() { require.NoError(tb, r.end()) })
	o.Stats, o.Now, o.Logger = r.stats, time.Now, slog.New(tracing.Logged(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	r.options, r.accounts = o, o.Accounts
	r.serves(options...)
	return r
}

// serves starts a server on the rig's options after those are changed.
func (r *rig) serves(options ...func(*api.Options)) {
	r.Helper()
	for _, set := range options {
		set(&r.options)
	}
	var err error
	r.handler, err = api.New(r.options)
	require.NoError(r, err)
	server, n := httptest.NewServer(r.handler), len(r.servers)
	r.servers = append(r.servers, server)
	r.Cleanup(func() { r.servers[n].Close() })
	r.url, r.http = server.URL, server.Client()
	r.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// stats are those that a program would give.
func (r *rig) stats(ctx context.Context) (message.Stats, error) {
	letters, err := r.options.DeadLetters.Count(ctx)
	return message.Stats{
		Version: "1.2.3", Queue: map[string]int{"scheduled": 3}, DeadLetters: letters,
		Store: []message.StoreMemory{{UsedBytes: 1000, MaxBytes: 2000}},
	}, err
}

// fails gives up a message to alice that is due now.
func (r *rig) fails(id string) {
	r.Helper()
	r.failsDraft(id, `{"user":"alice","id":"`+id+`","send_at":"now","title":"secret","data":{"k":"v"}}`)
}

func (r *rig) failsDraft(id, draft string) {
	r.Helper()
	r.accepted(draft)
	r.settles(id, messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
}

// settles has a worker send a message to alice that is due now.
func (r *rig) settles(id string, s messages.Settlement) {
	r.Helper()
	gate, d := r.claim(id)
	settled, err := gate.Settle(r.Context(), d, s, time.Time{})
	require.NoError(r, err)
	require.True(r, settled)
}

// claims has a worker begin to send a message to alice that is due now.
func (r *rig) claims(id string) {
	r.Helper()
	r.accepted(`{"user":"alice","id":"` + id + `","send_at":"now","title":"Hi"}`)
	r.claim(id)
}

// claim has a message to alice claimed.
func (r *rig) claim(id string) (*messages.Gate, messages.Delivery) {
	r.Helper()
	gate, err := messages.NewGate(r.client, sendlimit.Options{Records: true})
	require.NoError(r, err)
	d := messages.Delivery{User: "alice", ID: id, Nonce: keyspace.NewToken()}
	for _, key := range r.store.Keys() {
		if strings.HasSuffix(key, ":m:alice:"+id) {
			d.Generation = r.store.HGet(key, "g")
		}
	}
	claim, err := gate.Claim(r.Context(), d, time.Minute, time.Time{})
	require.NoError(r, err)
	require.Equal(r, messages.Send, claim.Verdict)
	return gate, d
}

// request is one as it goes over the wire; target is its path and query as they
// stand.
type request struct {
	method, target string
	body           string
	header         http.Header
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request; one with a body is JSON unless its header says
// otherwise.
func (r *rig) send(q request) reply {
	r.Helper()
	sent, err := http.NewRequestWithContext(r.Context(), q.method, r.url, strings.NewReader(q.body))
	require.NoError(r, err)
	path, query, _ := strings.Cut(q.target, "?")
	sent.URL.Opaque, sent.URL.RawQuery = path, query // as it stands
	if q.body != "" {
		sent.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(sent.Header, q.header)
	got, err := r.http.Do(sent)
	require.NoError(r, err)
	defer func() { require.NoError(r, got.Body.Close()) }()
	body, err := io.ReadAll(got.Body)
	require.NoError(r, err)
	return reply{status: got.StatusCode, header: got.Header, body: body}
}

var (
	documentOnce sync.Once //nolint:globals // the document is the same for all servers, and takes a while to make
	documentText []byte    //nolint:globals // the same
)

// document returns the OpenAPI document of a server.
func (r *rig) document() []byte {
	r.Helper()
	documentOnce.Do(func() { documentText = r.get("/openapi.json").body })
	require.NotEmpty(r, documentText)
	return documentText
}

func (r *rig) get(target string) reply {
	r.Helper()
	return r.send(request{method: http.MethodGet, target: target})
}

func (r *rig) post(target, body string) reply {
	r.Helper()
	return r.send(request{method: http.MethodPost, target: target, body: body})
}

// accepted submits a message that must be accepted.
func (r *rig) accepted(draft string) {
	r.Helper()
	into[message.Outcome](r, http.StatusCreated, r.post("/v1/messages", draft))
}

// problem requires a problem of a status, and returns it.
func (r *rig) problem(status int, got reply) api.Problem {
	r.Helper()
	require.Equal(r, status, got.status, string(got.body))
	require.Equal(r, "application/problem+json", got.header.Get("Content-Type"))
	p := into[api.Problem](r, status, got)
	require.Equal(r, status, p.Status)
	require.Equal(r, "/problems/"+string(p.Code), p.Type)
	require.NotEmpty(r, p.Title)
	require.Contains(r, web.KindOf(p.Code).Statuses(), status, "/docs lists every status of %s", p.Code)
	require.NotEmpty(r, p.Detail)
	require.NotEmpty(r, p.Outcome.Outcome)
	require.Equal(r, got.header.Get("X-Request-Id"), p.Instance)
	return p
}

// pagesOf follows the cursors of a list from a target with a query, and returns the entries of
// all pages.
func pagesOf[T, E any](r *rig, target string, of func(page T) (entries []E, next string)) []E {
	r.Helper()
	var all []E
	for cursor := ""; ; {
		entries, next := of(into[T](r, http.StatusOK, r.get(target+cursor)))
		all = append(all, entries...)
		if next == "" {
			return all
		}
		cursor = "&cursor=" + next
	}
}

// into requires a status, and reads the body's JSON.
func into[T any](tb testing.TB, status int, got reply) T {
	tb.Helper()
	require.Equal(tb, status, got.status, string(got.body))
	require.NotEmpty(tb, got.header.Get("X-Request-Id"))
	var value T
	require.NoError(tb, json.Unmarshal(got.body, &value), string(got.body))
	return value
}
