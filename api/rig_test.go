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
	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/devices"
	logs "github.com/sendlimit/sendlimiter/sendlimit/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// now is the time on the store's clock and on this one.
func now() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// on22 is a time of the 22nd.
func on22(clock string) string { return "2026-11-22T" + clock + "Z" }

// rig is an API on a store of its own, behind a server.
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
}

// newRig starts an API on a store that has the default rules.
func newRig(tb testing.TB, options ...func(*api.Options)) *rig {
	tb.Helper()
	r := &rig{TB: tb, store: miniredis.RunT(tb), log: new(output.Buffer)}
	r.store.SetTime(now())
	r.client = redis.NewClient(redistest.ClientOptions(r.store.Addr()))
	tb.Cleanup(func() { require.NoError(tb, r.client.Close()) })
	policies, err := settings.NewPolicies(r.client, "")
	require.NoError(tb, err)
	require.NoError(tb, policies.Apply(tb.Context(), policy.Default()))

	b := taskstest.Open(tb, r.client, backend.Options{})
	submitter, err := submit.New(b, submit.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, submitter.Close()) })
	letters, err := deadletters.New(b)
	require.NoError(tb, err)
	tb.Cleanup(letters.Close)
	r.accounts, err = accounts.New(r.client, "")
	require.NoError(tb, err)
	charges, err := quota.New(r.client, quota.Options{})
	require.NoError(tb, err)
	counting, err := counters.New(r.client, "")
	require.NoError(tb, err)
	events, err := counters.NewEvents(r.client, "")
	require.NoError(tb, err)
	paces, err := rate.NewPaces(r.client, "", deliver.PaceTarget)
	require.NoError(tb, err)
	userData, err := userdata.New(b)
	require.NoError(tb, err)
	users, err := settings.NewUsers(r.client, "")
	require.NoError(tb, err)
	deviceStore, err := devices.New(r.client, devices.Options{})
	require.NoError(tb, err)
	refitter, err := refit.New(b, refit.Options{
		Rest: func(context.Context, time.Duration) error { return nil }, // nobody else uses the store
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, refitter.Close()) })
	accountEvents, err := callbacks.NewRegistry(r.client, logs.Options{}, contact.Callbacks{})
	require.NoError(tb, err)
	campaigns, err := campaign.New(b)
	require.NoError(tb, err)
	r.options = api.Options{
		Callbacks: accountEvents,
		Policies:  policies, Users: users, Devices: deviceStore, Refitter: refitter, Campaigns: campaigns,
		Accounts: r.accounts, Charges: charges, Counters: counting, Events: events, Paces: paces, UserData: userData, Submitter: submitter, DeadLetters: letters, Stats: r.stats, Now: time.Now, Version: "1.2.3",
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
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
	server := httptest.NewServer(r.handler)
	r.Cleanup(server.Close)
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

// fails has a message to alice given up, whose time is now.
func (r *rig) fails(id string) {
	r.Helper()
	r.failsDraft(id, `{"user":"alice","id":"`+id+`","send_at":"now","title":"secret","data":{"k":"v"}}`)
}

func (r *rig) failsDraft(id, draft string) {
	r.Helper()
	r.accepted(draft)
	r.settles(id, messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
}

// settles has a worker send a message to alice, whose time is now.
func (r *rig) settles(id string, s messages.Settlement) {
	r.Helper()
	gate, d := r.claim(id)
	settled, err := gate.Settle(r.Context(), d, s, time.Time{})
	require.NoError(r, err)
	require.True(r, settled)
}

// claims has a worker begin to send a message to alice, whose time is now.
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

// reply is the answer to one.
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

// accepted submits a message that has to be.
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

// into requires a status, and reads the body's JSON.
func into[T any](tb testing.TB, status int, got reply) T {
	tb.Helper()
	require.Equal(tb, status, got.status, string(got.body))
	require.NotEmpty(tb, got.header.Get("X-Request-Id"))
	var value T
	require.NoError(tb, json.Unmarshal(got.body, &value), string(got.body))
	return value
}
