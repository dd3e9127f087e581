package dashboard_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// began is the time on the store's clock and on this one when a test begins.
func began() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// rig is an API and a dashboard on a store of their own.
type rig struct {
	testing.TB
	parts

	passed atomic.Int64 // since began
}

// parts are all that takes memory.
type parts struct {
	store    *miniredis.Miniredis
	client   *redis.Client
	end      func() error // of the API
	backend  *backend.Backend
	accounts *accounts.Accounts
	audit    *audit.Log
	api      http.Handler
	open     http.Handler // the API without required keys
	pages    *dashboard.Dashboard
	log      *output.Buffer
	options  dashboard.Options
}

// keyless is a rig where nobody has to log in; locked is one where everybody has to.
func keyless(tb testing.TB) *rig { tb.Helper(); return newRig(tb, false) }
func locked(tb testing.TB) *rig  { tb.Helper(); return newRig(tb, true) }

// newRig has cleanups that refer only to the rig, of which the last one drops its parts: package testing
// keeps what they refer to until all tests have ended.
func newRig(tb testing.TB, requireKeys bool, options ...func(*dashboard.Options)) *rig {
	tb.Helper()
	r := &rig{TB: tb, parts: parts{store: miniredis.NewMiniRedis(), log: new(output.Buffer)}}
	tb.Cleanup(func() { r.parts = parts{} }) // not the clock, which what ends at last may read
	require.NoError(tb, r.store.Start())
	tb.Cleanup(func() { r.store.Close() })
	r.store.SetTime(began())
	r.client = redis.NewClient(redistest.PipedOptions(r.store))
	tb.Cleanup(func() { require.NoError(tb, r.client.Close()) })
	r.build(requireKeys, options...)
	return r
}

// now is the local clock.
func (r *rig) now() time.Time { return began().Add(time.Duration(r.passed.Load())) }

// passes moves the local clock and that of the store.
func (r *rig) passes(d time.Duration) {
	r.passed.Add(int64(d))
	r.store.SetTime(r.now())
	r.store.FastForward(d)
}

// made returns a value that has to be made without an error.
func made[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return value
	}
}

// build makes the API, as cmd/worker/internal/serve does, and the dashboard.
func (r *rig) build(requireKeys bool, set ...func(*dashboard.Options)) {
	r.Helper()
	b, options, end, err := apitest.Open(r.Context(), r.client, submit.Options{})
	require.NoError(r, err)
	r.end = end
	r.Cleanup(func() { require.NoError(r, r.end()) })
	r.backend, r.accounts = b, options.Accounts
	r.audit = made(audit.New(r.client, audit.Options{}))(r)
	logger := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	options.Now, options.Logger = r.now, logger
	r.open = made(api.New(options))(r)
	r.options = dashboard.Options{
		Sessions: session.New(r.client, keyspace.KeysUnder(""), r.accounts),
		Overview: made(overview.New(b))(r), Timeline: options.Submitter.Timeline,
		Now: r.now, Logger: logger, Version: "1.2.3", RequireKeys: requireKeys,
	}
	for _, set := range set {
		set(&r.options)
	}
	options.RequireKeys, options.TrustedProxies = requireKeys, r.options.TrustedProxies
	r.api = made(api.New(options))(r)
	r.options.API = r.api
	r.pages = made(dashboard.New(r.options))(r)
}

// key makes an account if there is none, and a key of it.
func (r *rig) key(account string, scopes ...accounts.Scope) string {
	r.Helper()
	_, there, err := r.accounts.Get(r.Context(), account)
	require.NoError(r, err)
	if !there {
		_, err = r.accounts.Create(r.Context(), accounts.Account{Name: account})
		require.NoError(r, err)
	}
	secret, _, err := r.accounts.AddKey(r.Context(), account, scopes, time.Time{}, nil)
	require.NoError(r, err)
	return secret
}

// keyID returns the id of a key, which is a part of it.
func keyID(secret string) string { return secret[3:11] }

// operator is a browser that has logged in with a key for everything; sender is one of an account
// that submits and reads; writer is one that only submits.
func (r *rig) operator() *browser {
	r.Helper()
	return r.loggedIn(r.key("ops", accounts.ScopeAdmin))
}

func (r *rig) sender(account string) *browser {
	r.Helper()
	return r.loggedIn(r.key(account, accounts.ScopeSubmit, accounts.ScopeRead))
}

func (r *rig) writer(account string) *browser {
	r.Helper()
	return r.loggedIn(r.key(account, accounts.ScopeSubmit))
}

func (r *rig) loggedIn(key string) *browser {
	r.Helper()
	b := r.browser()
	got := b.post("/login", "key", key)
	require.Equal(r, http.StatusSeeOther, got.status, got.body)
	require.Equal(r, "/", got.to())
	return b
}

// entries returns the audit log, newest first.
func (r *rig) entries() []audit.Entry {
	r.Helper()
	list, next, err := r.audit.Page(r.Context(), audit.Filter{}, "", audit.MaxPage)
	require.NoError(r, err)
	require.Empty(r, next)
	return list
}

// submits has the API accept a message to alice without an account; at is a time, or "+1h" for an
// hour from now.
func (r *rig) submits(id, at string) {
	r.Helper()
	r.accepts(map[string]any{"user": "alice", "id": id, "title": "Hi", "send_at": at})
}

// accepts submits a message as it stands, without an account.
func (r *rig) accepts(draft map[string]any) {
	r.Helper()
	status, body := r.asksAPI("", r.open, http.MethodPost, "/v1/messages", r.timed(draft))
	require.Equal(r, http.StatusCreated, status, body)
}

// acceptsOf submits a message of an account.
func (r *rig) acceptsOf(account string, draft map[string]any) {
	r.Helper()
	key := r.key(account, accounts.ScopeSubmit)
	status, body := r.asksAPI(key, r.api, http.MethodPost, "/v1/messages", r.timed(draft))
	require.Equal(r, http.StatusCreated, status, body)
	_, err := r.accounts.RemoveKey(r.Context(), account, keyID(key), nil)
	require.NoError(r, err)
}

// timed returns a draft with its send time in full.
func (r *rig) timed(draft map[string]any) map[string]any {
	r.Helper()
	if at, _ := draft["send_at"].(string); strings.HasPrefix(at, "+") {
		after, err := time.ParseDuration(at[1:])
		require.NoError(r, err)
		draft["send_at"] = r.now().Add(after).Format(time.RFC3339Nano)
	}
	return draft
}

// asksAPI sends a request to an API of the store, with a key or with "" for none.
func (r *rig) asksAPI(key string, to http.Handler, method, target string, body any) (status int, answer string) {
	r.Helper()
	text, err := json.Marshal(body)
	require.NoError(r, err)
	asked := httptest.NewRequestWithContext(r.Context(), method, target, bytes.NewReader(text))
	asked.Host = "127.0.0.1"
	asked.Header.Set("Content-Type", "application/json")
	if key != "" {
		asked.Header.Set("Authorization", "Bearer "+key)
	}
	got := httptest.NewRecorder()
	to.ServeHTTP(got, asked)
	return got.Code, got.Body.String()
}

// about returns the entries of the audit log with an action, newest first.
func (r *rig) about(action string) []audit.Entry {
	r.Helper()
	list, _, err := r.audit.Page(r.Context(), audit.Filter{Action: action}, "", audit.MaxPage)
	require.NoError(r, err)
	return list
}
