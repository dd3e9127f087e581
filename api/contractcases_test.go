package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// contractCase is a way to get a documented answer of an operation.
type contractCase struct {
	name         string
	method, path string
	status       int
	run          func(t *testing.T) reply
}

// operation is one with an address that is read, and a body that is taken where
// it has one.
type operation struct {
	method, path, target, body string
	parameters                 []string // of its query
}

const (
	messagesPath    = "/v1/messages"
	batchPath       = messagesPath + "/batch"
	checkBatchPath  = batchPath + "/dry-run"
	recordSentPath  = batchPath + "/record-sent"
	foundPath       = messagesPath + "/{id}"
	messagePath     = "/v1/users/{user}/messages/{id}"
	contentPath     = messagePath + "/content"
	deadLettersPath = "/v1/dead-letters"
	deadLetterPath  = "/v1/users/{user}/dead-letters/{id}"
	accountPath     = "/v1/accounts/{account}"
	rotatePath      = accountPath + "/keys/{key}/rotate"
	callbackPath    = accountPath + "/callback"
	acmeCallback    = "/v1/accounts/acme/callback"
	deadEventsPath  = "/v1/dead-events"
	campaignPath    = "/v1/campaigns/{campaign}"
	springPath      = "/v1/campaigns/spring"
	tierPath        = "/v1/tiers/{tier}"
	policyPath      = "/v1/policies/{policy}"
	settingsPath    = "/v1/users/{user}/settings"
	aliceA          = "/v1/users/alice/messages/a"
	auditPath       = "/v1/audit"
	sessionsPath    = "/v1/sessions"
	sessionPath     = sessionsPath + "/{session}"
	aliceADead      = "/v1/users/alice/dead-letters/a"
	crossOrigin     = "cross-site"
)

// ofLines reports whether the body is any number of lines.
func (o operation) ofLines() bool { return strings.HasPrefix(o.path, batchPath) }

// mediaType is that of the body.
func (o operation) mediaType() string {
	if o.ofLines() {
		return "application/x-ndjson"
	}
	return "application/json"
}

func (o operation) request() request {
	q := request{method: o.method, target: o.target, body: o.body}
	if o.body != "" {
		q.header = http.Header{"Content-Type": {o.mediaType()}}
	}
	return q
}

func operations() []operation {
	draft := `{"user":"alice","send_at":"` + on22("11:11:11") + `","title":"Hi"}`
	return []operation{
		{http.MethodPost, messagesPath, messagesPath, draft, nil},
		{http.MethodPost, messagesPath + "/dry-run", messagesPath + "/dry-run", draft, []string{"replace"}},
		{http.MethodPost, batchPath, batchPath, draft, []string{"without_free_times"}},
		{http.MethodPost, checkBatchPath, checkBatchPath, draft, []string{"without_free_times", "what_if", "what_if_policy"}},
		{http.MethodPost, recordSentPath, recordSentPath, draft, nil},
		{http.MethodGet, foundPath, messagesPath + "/a", "", []string{"limit", "cursor"}},
		{http.MethodGet, messagesPath, messagesPath, "", []string{
			"campaign", "category", "status", "from", "until", "user", "user_prefix", "account", "limit", "cursor",
		}},
		{http.MethodGet, messagePath, aliceA, "", nil},
		{http.MethodGet, contentPath, aliceA + "/content", "", nil},
		{http.MethodPut, messagePath, aliceA, draft, nil},
		{http.MethodPatch, messagePath, aliceA, `{"send_at":"` + on22("11:11:11") + `"}`, nil},
		{http.MethodDelete, messagePath, aliceA, "", nil},
		{http.MethodGet, "/v1/users/{user}/messages", "/v1/users/alice/messages", "", []string{"from", "until", "limit", "cursor"}},
		{http.MethodGet, "/v1/users/{user}/usage", "/v1/users/alice/usage", "", []string{"at", "from", "until", "category"}},
		{http.MethodGet, "/v1/users/{user}/next-free", "/v1/users/alice/next-free", "", []string{"from", "count", "category"}},
		{http.MethodGet, campaignPath, springPath, "", []string{"account", "more"}},
		{http.MethodPost, campaignPath + "/pause", springPath + "/pause", "", []string{"account"}},
		{http.MethodPost, campaignPath + "/resume", springPath + "/resume", "", []string{"account"}},
		{http.MethodPost, campaignPath + "/cancel", springPath + "/cancel", "", []string{"account"}},
		{http.MethodPost, campaignPath + "/reopen", springPath + "/reopen", "", []string{"account"}},
		{http.MethodPost, campaignPath + "/move", springPath + "/move", `{"by":"1h"}`, []string{"account"}},
		{http.MethodGet, deadLettersPath, deadLettersPath, "", []string{"user", "limit", "cursor"}},
		{http.MethodGet, deadLetterPath, aliceADead, "", []string{"content"}},
		{http.MethodDelete, deadLetterPath, aliceADead, "", nil},
		{http.MethodPost, deadLetterPath + "/retry", aliceADead + "/retry", "", nil},
		{http.MethodDelete, deadLettersPath, deadLettersPath + "?older_than=7d", "", []string{"older_than", "limit"}},
		{http.MethodPost, deadLettersPath + "/retry", deadLettersPath + "/retry", "", []string{"user", "limit", "cursor"}},
		{http.MethodGet, deadAlertsPath, deadAlertsPath, "", []string{"limit", "cursor"}},
		{http.MethodGet, deadAlertPath, acmeDead, "", nil},
		{http.MethodPost, deadAlertPath + "/retry", acmeDead + "/retry", "", nil},
		{http.MethodDelete, deadAlertPath, acmeDead, "", nil},
		{http.MethodDelete, deadAlertsPath, deadAlertsPath + "?older_than=7d", "", []string{"older_than", "limit"}},
		{http.MethodGet, "/v1/accounts", "/v1/accounts", "", []string{"limit", "cursor"}},
		{http.MethodPost, "/v1/accounts", "/v1/accounts", `{"name":"acme"}`, nil},
		{http.MethodGet, accountPath, "/v1/accounts/acme", "", nil},
		{http.MethodPatch, accountPath, "/v1/accounts/acme", `{"contact":"ops@acme.example"}`, nil},
		{http.MethodPost, accountPath + "/keys", "/v1/accounts/acme/keys", `{"scopes":["read"]}`, nil},
		{http.MethodPost, rotatePath, "/v1/accounts/acme/keys/Zx3kQ9aB/rotate", `{"overlap":"1h"}`, nil},
		{http.MethodDelete, accountPath + "/keys/{key}", "/v1/accounts/acme/keys/Zx3kQ9aB", "", nil},
		{http.MethodGet, "/v1/usage", "/v1/usage", "", nil},
		{http.MethodGet, "/v1/tiers", "/v1/tiers", "", []string{"limit", "cursor"}},
		{http.MethodGet, tierPath, "/v1/tiers/free", "", nil},
		{http.MethodPut, tierPath, "/v1/tiers/free", `{"messages_per_day":500}`, nil},
		{http.MethodDelete, tierPath, "/v1/tiers/free", "", nil},
		{http.MethodGet, "/v1/policies", "/v1/policies", "", []string{"limit", "cursor"}},
		{http.MethodGet, policyPath, vipPath, "", nil},
		{http.MethodPut, policyPath, vipPath, `{"rules":["1/minute"]}`, nil},
		{http.MethodDelete, policyPath, vipPath, "", nil},
		{http.MethodGet, policyPath + "/versions", vipPath + "/versions", "", nil},
		{http.MethodPost, policyPath + "/rollback", vipPath + "/rollback", `{"version":1}`, nil},
		{http.MethodGet, "/v1/users", "/v1/users", "", []string{"blocked", "policy", "limit", "cursor"}},
		{http.MethodPost, policyPath + "/dry-run", vipPath + "/dry-run", `{"rules":["1/minute"]}`, nil},
		{http.MethodPost, policyPath + "/refit", vipPath + "/refit?then=shift", "", []string{"then"}},
		{http.MethodGet, settingsPath, aliceSettings, "", nil},
		{http.MethodPut, settingsPath, aliceSettings, `{"time_zone":"Europe/Berlin"}`, nil},
		{http.MethodPatch, settingsPath, aliceSettings, `{"blocked":true}`, nil},
		{http.MethodDelete, settingsPath, aliceSettings, "", nil},
		{http.MethodGet, devicesPath, aliceDevices, "", nil},
		{http.MethodPost, devicesPath, aliceDevices, canaryPhone, nil},
		{http.MethodDelete, devicesPath + "/{device}", phone, "", nil},
		{http.MethodGet, exportPath, "/v1/users/alice/export", "", nil},
		{http.MethodDelete, userPath, "/v1/users/alice?wait=0s", "", []string{"wait"}},
		{http.MethodGet, "/v1/event-limits", "/v1/event-limits", "", []string{"limit", "cursor"}},
		{http.MethodGet, eventLimitsPath, readLimits, "", nil},
		{http.MethodPut, eventLimitsPath, readLimits, `{"per_day":500,"alert_at":[80],"alert_to":"ops@acme.example"}`, nil},
		{http.MethodDelete, eventLimitsPath, readLimits, "", nil},
		{http.MethodGet, pacePath, pacePath, "", []string{"channel"}},
		{http.MethodPut, pacePath, pacePath, `{"rate":"100/second","burst":20}`, []string{"channel"}},
		{http.MethodDelete, pacePath, pacePath, "", []string{"channel"}},
		{http.MethodGet, sendingPath, sendingPath, "", nil},
		{http.MethodPost, sendingPath + "/stop", sendingPath + "/stop", `{"reason":"wrong text"}`, nil},
		{http.MethodPost, sendingPath + "/start", sendingPath + "/start", "", nil},
		{http.MethodGet, channelsPath, channelsPath, "", nil},
		{http.MethodPost, channelsPath + "/{channel}/resume", channelsPath + "/fcm/resume", "", nil},
		{http.MethodGet, "/v1/events", "/v1/events?follow=false", "", []string{"account", "after", "follow", "limit"}},
		{http.MethodPut, callbackPath, acmeCallback, `{"url":"https://example.com/events"}`, nil},
		{http.MethodDelete, callbackPath, acmeCallback, "", nil},
		{http.MethodPost, callbackPath + "/rotate", acmeCallback + "/rotate", `{"overlap":"1h"}`, nil},
		{http.MethodGet, deadEventsPath, deadEventsPath + "?account=acme", "", []string{"account", "limit", "cursor"}},
		{http.MethodPost, deadEventsPath + "/retry", deadEventsPath + "/retry?account=acme", "", []string{"account", "id", "limit"}},
		{http.MethodDelete, deadEventsPath, deadEventsPath + "?account=acme", "", []string{"account", "id"}},
		{http.MethodGet, "/v1/stats", "/v1/stats", "", nil},
		{http.MethodGet, "/v1/overview", "/v1/overview", "", nil},
		{http.MethodGet, "/v1/forecast", "/v1/forecast", "", nil},
		{http.MethodGet, auditPath, auditPath, "", []string{"account", "user", "action", "object", "from", "until", "limit", "cursor"}},
		{http.MethodGet, sessionsPath, sessionsPath, "", nil},
		{http.MethodDelete, sessionPath, sessionsPath + "/3fa91c02b7d86e54", "", nil},
	}
}

// ownCases are those that each operation has.
func ownCases() []contractCase {
	return slices.Concat(messageCases(), lookCases(), campaignCases(), deadCases(), accountCases(), policyCases(), settingsCases(), eventCases(), operatingCases(), userDataCases(), deviceCases(), auditCases())
}

// wrongCases are those that all operations have alike.
func wrongCases(t *testing.T) []contractCase {
	t.Helper()
	var cases []contractCase
	w := newWrongRequests(t)
	for i, o := range operations() {
		w.address = fmt.Sprintf("192.0.2.%d", i)
		cases = append(cases, w.cases(o)...)
	}
	return cases
}

// wrongRequests are servers for requests that go wrong, whatever the operation does, and so change
// nothing.
type wrongRequests struct {
	well, guessed, away *rig                      // the second has got too many wrong keys, the third has lost its store
	key, caller         string                    // of an account with a limit of requests, so that answers say how many remain; of the last server
	lacks               map[accounts.Scope]string // keys without a scope
	stopped             map[string]reply          // to a body that stops, by operation
	address             string                    // of the caller
}

func newWrongRequests(t *testing.T) wrongRequests {
	t.Helper()
	proxied := func(o *api.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	h := wrongRequests{well: newRig(t, proxied), guessed: newRig(t), away: newRig(t), lacks: make(map[accounts.Scope]string), stopped: make(map[string]reply)}
	h.key = h.well.counted(100_000)
	for range 10 {
		h.guessed.with("sk_wrong", stats())
	}
	h.caller = h.away.key("caller", accounts.ScopeAdmin, accounts.ScopeContent) // what is asked about the caller needs one
	h.away.store.Close()

	slow := newRig(t, func(o *api.Options) { o.Limits.Timeout = 2 * time.Second })
	key := slow.counted(100_000)
	slow.with(key, stats()) // is known from now on
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, o := range operations() {
		if h.lacks[scopeOf(o)] == "" {
			h.lacks[scopeOf(o)] = h.well.key("other", lacking(scopeOf(o))...)
		}
		if o.body == "" {
			continue
		}
		all.Go(func() {
			got := slow.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 100\r\n\r\n{",
				o.method, o.target, key, o.mediaType()))
			mu.Lock()
			defer mu.Unlock()
			h.stopped[o.method+o.path] = got
		})
	}
	all.Wait()
	return h
}

// cases are the ways that an operation goes wrong.
func (h wrongRequests) cases(o operation) []contractCase {
	var cases []contractCase
	add := func(name string, status int, r *rig, key string, change func(*request)) {
		cases = append(cases, contractCase{name: name, method: o.method, path: o.path, status: status, run: func(*testing.T) reply {
			q := o.request()
			q.use(key)
			q.header.Set("X-Forwarded-For", h.address)
			change(&q)
			return r.send(q)
		}})
	}
	same := func(*request) {}
	add("broken query", http.StatusBadRequest, h.well, h.key, func(q *request) { q.target += "?a=%zz" })
	add("unknown parameter", http.StatusUnprocessableEntity, h.well, h.key, func(q *request) { q.target += "?nope=1" })
	add("wrong key", http.StatusUnauthorized, h.well, "sk_wrong", same)
	add("key without the scope", http.StatusForbidden, h.well, h.lacks[scopeOf(o)], same)
	add("too many wrong keys", http.StatusTooManyRequests, h.guessed, "sk_wrong", same)
	add("store away", http.StatusServiceUnavailable, h.away, h.caller, same)
	if o.method != http.MethodGet {
		add("page of another site", http.StatusForbidden, h.well, h.key, func(q *request) { q.header.Set("Sec-Fetch-Site", crossOrigin) })
	}
	if o.body == "" {
		return cases
	}
	stopped := h.stopped[o.method+o.path]
	cases = append(cases, contractCase{"body that stops", o.method, o.path, http.StatusRequestTimeout, func(*testing.T) reply { return stopped }})
	add("form", http.StatusUnsupportedMediaType, h.well, h.key, func(q *request) {
		q.header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	if o.ofLines() { // takes as many lines as there are, and answers what is no JSON in its place
		return cases
	}
	add("no JSON", http.StatusBadRequest, h.well, h.key, func(q *request) { q.body = "{" })
	add("large body", http.StatusRequestEntityTooLarge, h.well, h.key, func(q *request) {
		q.body = strings.Repeat(" ", api.DefaultBody+1) + q.body
	})
	return cases
}

// counted returns a key that may do everything, of an account with a limit of requests.
func (r *rig) counted(perMinute int64) string {
	r.Helper()
	require.NoError(r, r.accounts.SetTier(r.Context(), accounts.Tier{Name: "counted", RequestsPerMinute: perMinute}))
	_, err := r.accounts.Create(r.Context(), accounts.Account{Name: "counted", Tier: "counted"})
	require.NoError(r, err)
	return r.key("counted", accounts.ScopeAdmin, accounts.ScopeContent)
}

// tooMany has an account use up its requests of a minute, and send another.
func tooMany(q request) func(t *testing.T) reply {
	return func(t *testing.T) reply {
		t.Helper()
		r := newRig(t)
		q.header = q.header.Clone()
		q.use(r.counted(1))
		r.send(q)
		return r.send(q)
	}
}

// onCount is on, but by an account with counted requests.
func onCount(before func(*rig), q request) func(t *testing.T) reply {
	return func(t *testing.T) reply {
		t.Helper()
		r := newRig(t)
		before(r)
		q.header = q.header.Clone()
		q.use(r.counted(100))
		return r.send(q)
	}
}

// raw sends bytes as they are, and reads one answer.
func (r *rig) raw(text string) reply {
	r.Helper()
	conn, err := new(net.Dialer).DialContext(r.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	require.NoError(r, err)
	defer func() { require.NoError(r, conn.Close()) }()
	require.NoError(r, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, text)
	require.NoError(r, err)
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(r, err)
	defer func() { require.NoError(r, got.Body.Close()) }()
	body, err := io.ReadAll(got.Body)
	require.NoError(r, err)
	return reply{status: got.StatusCode, header: got.Header, body: body}
}

// on makes the run of a case: a store that something has been done with, and a
// request.
func on(before func(*rig), q request) func(t *testing.T) reply {
	return func(t *testing.T) reply {
		t.Helper()
		r := newRig(t)
		before(r)
		return r.send(q)
	}
}

func nothing(*rig) {}

// withKey is on, by an account with scopes.
func withKey(before func(*rig), account string, q request, scopes ...accounts.Scope) func(t *testing.T) reply {
	return func(t *testing.T) reply {
		t.Helper()
		r := newRig(t)
		before(r)
		return r.with(r.key(account, scopes...), q)
	}
}

// booked has alice get a at 11:11:11 on the 22nd, and b an hour later.
func booked(r *rig) {
	r.accepted(`{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`)
	r.accepted(`{"user":"alice","id":"b","send_at":"` + on22("12:11:11") + `","title":"Hi"}`)
}

// noted waits until the store has recorded that the scheduled messages are queued. No answer waits
// for that.
func noted(r *rig) {
	r.Helper()
	first, err := time.Parse(time.RFC3339, on22("00:00:00"))
	require.NoError(r, err)
	keys, err := keyspace.NewKeys("")
	require.NoError(r, err)
	require.Eventually(r, func() bool {
		noted := 0
		for _, at := range story.WatchedOf(r, r.client, keys, "alice") {
			if !at.Before(first) {
				noted++
			}
		}
		return noted == 2
	}, time.Minute, time.Millisecond)
}

func failed(r *rig) { r.fails("a") }

// expired has a dead letter to alice with a past expiry.
func expired(r *rig) {
	// From its answer the store's time is known, which the expiry is judged by.
	r.accepted(`{"user":"bob","send_at":"now","title":"Hi"}`)
	r.failsDraft("a", `{"user":"alice","id":"a","send_at":"now","expires_at":"2026-11-21T10:00:30Z","title":"Hi"}`)
	r.store.SetTime(now().Add(time.Minute))
}

func messageCases() []contractCase {
	draft := func(more string) string { return `{"user":"alice","title":"Hi",` + more + `}` }
	put := func(target, more string, header http.Header) request {
		return request{http.MethodPut, target, `{"user":"alice","title":"Hi",` + more + `}`, header}
	}
	post := func(target, more string) request {
		return request{method: http.MethodPost, target: target, body: draft(more)}
	}
	free, taken := `"send_at":"`+on22("15:00:00")+`"`, `"send_at":"`+on22("11:11:12")+`"`
	again := `"id":"a","send_at":"` + on22("11:11:11") + `"`
	dryRun := messagesPath + "/dry-run"
	// overQuota has an account use up its quota of the hour, and ask for more.
	overQuota := func(q request) func(t *testing.T) reply {
		return func(t *testing.T) reply {
			t.Helper()
			r := newRig(t, atNow)
			secret := r.quota(1)
			require.Equal(t, http.StatusCreated, r.direct(secret, post(messagesPath, `"id":"a","send_at":"`+on22("20:00:00")+`"`)).status)
			require.Equal(t, http.StatusCreated, r.direct(secret, post(messagesPath, `"id":"b","send_at":"`+on22("15:30:00")+`"`)).status)
			return r.direct(secret, q)
		}
	}
	return []contractCase{
		{"accepted", http.MethodPost, messagesPath, http.StatusCreated, on(booked, post(messagesPath, free))},
		{"shifted", http.MethodPost, messagesPath, http.StatusCreated, on(booked, post(messagesPath, taken+`,"on_conflict":"shift"`))},
		{"replayed", http.MethodPost, messagesPath, http.StatusOK, on(booked, post(messagesPath, again))},
		{"send limit", http.MethodPost, messagesPath, http.StatusConflict, on(booked, post(messagesPath, taken))},
		{"id reused", http.MethodPost, messagesPath, http.StatusConflict, on(booked, post(messagesPath, `"id":"a",`+free))},
		{"no time", http.MethodPost, messagesPath, http.StatusUnprocessableEntity, on(nothing, post(messagesPath, `"id":"a"`))},
		{"in past", http.MethodPost, messagesPath, http.StatusUnprocessableEntity, on(nothing, post(messagesPath, `"send_at":"2020-01-01T00:00:00Z"`))},
		{"too far ahead", http.MethodPost, messagesPath, http.StatusUnprocessableEntity, on(nothing, post(messagesPath, `"send_at":"2029-01-01T00:00:00Z"`))},

		{"over quota", http.MethodPost, messagesPath, http.StatusConflict, overQuota(post(messagesPath, free))},
		{"over quota", http.MethodPost, dryRun, http.StatusConflict, overQuota(post(dryRun, free))},
		{"over quota", http.MethodPatch, messagePath, http.StatusConflict, overQuota(request{http.MethodPatch, aliceA, `{` + free + `}`, nil})},
		{"a line over quota", http.MethodPost, batchPath, http.StatusOK, overQuota(request{
			http.MethodPost, batchPath, draft(free), http.Header{"Content-Type": {"application/x-ndjson"}},
		})},

		{"too many", http.MethodPost, messagesPath, http.StatusTooManyRequests, tooMany(post(messagesPath, free))},
		{"too many", http.MethodPost, dryRun, http.StatusTooManyRequests, tooMany(post(dryRun, free))},
		{"too many", http.MethodPost, batchPath, http.StatusTooManyRequests, tooMany(request{
			http.MethodPost, batchPath, draft(free), http.Header{"Content-Type": {"application/x-ndjson"}},
		})},
		{"counted", http.MethodPost, messagesPath, http.StatusCreated, onCount(booked, post(messagesPath, free))},
		{"counted", http.MethodPost, dryRun, http.StatusOK, onCount(booked, post(dryRun, free))},
		{"counted", http.MethodPost, messagesPath, http.StatusForbidden, onCount(blocked, post(messagesPath, free))},

		{"lines of all kinds", http.MethodPost, batchPath, http.StatusOK, on(booked, request{http.MethodPost, batchPath, strings.Join([]string{
			draft(free), draft(taken), draft(again), "{", "", `{"user":"bob"}`,
		}, "\n"), http.Header{"Content-Type": {"application/x-ndjson"}}})},

		{"lines of all kinds", http.MethodPost, checkBatchPath, http.StatusOK, on(booked, request{http.MethodPost, checkBatchPath, strings.Join([]string{
			draft(free), draft(taken), draft(again), "{", "", `{"user":"bob"}`,
		}, "\n"), http.Header{"Content-Type": {"application/x-ndjson"}}})},
		{"lines of all kinds", http.MethodPost, recordSentPath, http.StatusOK, on(booked, ndjsonOf(recordSentPath, sentLines()...))},
		{"other rules", http.MethodPost, checkBatchPath, http.StatusOK, on(booked, request{
			http.MethodPost, checkBatchPath + "?what_if=1/day&what_if_policy=true", `{"rules":["5/hour"]}` + "\n" + draft(free),
			http.Header{"Content-Type": {"application/x-ndjson"}},
		})},
		{"over quota", http.MethodPost, checkBatchPath, http.StatusOK, overQuota(request{
			http.MethodPost, checkBatchPath, draft(free), http.Header{"Content-Type": {"application/x-ndjson"}},
		})},

		{"free", http.MethodPost, dryRun, http.StatusOK, on(booked, post(dryRun, free))},
		{"replayed", http.MethodPost, dryRun, http.StatusOK, on(booked, post(dryRun, again))},
		{"send limit", http.MethodPost, dryRun, http.StatusConflict, on(booked, post(dryRun, taken))},

		{"scheduled", http.MethodGet, messagePath, http.StatusOK, on(booked, request{method: http.MethodGet, target: aliceA})},
		{"failed", http.MethodGet, messagePath, http.StatusOK, on(failed, request{method: http.MethodGet, target: aliceA})},
		{"with its content", http.MethodGet, contentPath, http.StatusOK, on(booked, request{method: http.MethodGet, target: aliceA + "/content"})},
		{"unknown", http.MethodGet, contentPath, http.StatusNotFound, on(nothing, request{method: http.MethodGet, target: aliceA + "/content"})},
		{"unknown", http.MethodGet, messagePath, http.StatusNotFound, on(nothing, request{method: http.MethodGet, target: aliceA})},

		{"moved", http.MethodPatch, messagePath, http.StatusOK, on(booked, request{http.MethodPatch, aliceA, `{` + free + `}`, nil})},
		{"send limit", http.MethodPatch, messagePath, http.StatusConflict, on(booked, request{
			http.MethodPatch, "/v1/users/alice/messages/b", `{` + taken + `}`, nil,
		})},
		{"being sent", http.MethodPatch, messagePath, http.StatusConflict, on(sending, request{http.MethodPatch, aliceA, `{` + free + `}`, nil})},
		{"unknown", http.MethodPatch, messagePath, http.StatusNotFound, on(nothing, request{http.MethodPatch, aliceA, `{` + free + `}`, nil})},
		{"no time", http.MethodPatch, messagePath, http.StatusUnprocessableEntity, on(nothing, request{http.MethodPatch, aliceA, `{}`, nil})},
		{"unknown field", http.MethodPatch, messagePath, http.StatusUnprocessableEntity, on(nothing, request{
			http.MethodPatch, aliceA, `{"text":"x",` + free + `}`, nil,
		})},
		{"changed", http.MethodPatch, messagePath, http.StatusOK, on(booked, request{
			http.MethodPatch, aliceA, `{"title":null,"body":"x","data":{"k":"v","l":null},"metadata":null,"expires_at":null}`, nil,
		})},

		{"created", http.MethodPut, messagePath, http.StatusCreated, on(nothing, put(aliceA, free, nil))},
		{"replaced", http.MethodPut, messagePath, http.StatusOK, on(booked, put(aliceA, free, http.Header{"If-Match": {"*"}}))},
		{"send limit", http.MethodPut, messagePath, http.StatusConflict, on(booked, put("/v1/users/alice/messages/b", taken, nil))},
		{"being sent", http.MethodPut, messagePath, http.StatusConflict, on(sending, put(aliceA, free, nil))},
		{"there is one", http.MethodPut, messagePath, http.StatusPreconditionFailed, on(booked, put(aliceA, free, http.Header{"If-None-Match": {"*"}}))},
		{"there is none", http.MethodPut, messagePath, http.StatusPreconditionFailed, on(nothing, put(aliceA, free, http.Header{"If-Match": {"*"}}))},
		{"a version", http.MethodPut, messagePath, http.StatusUnprocessableEntity, on(nothing, put(aliceA, free, http.Header{"If-Match": {`"7"`}}))},
		{"another user", http.MethodPut, messagePath, http.StatusUnprocessableEntity, on(nothing, put("/v1/users/bob/messages/a", free, nil))},
		{"a replacement", http.MethodPost, dryRun, http.StatusOK, on(booked, post(dryRun+"?replace=true", `"id":"a",`+free))},

		{"cancelled", http.MethodDelete, messagePath, http.StatusOK, on(booked, request{method: http.MethodDelete, target: aliceA})},
		{"being sent", http.MethodDelete, messagePath, http.StatusConflict, on(sending, request{method: http.MethodDelete, target: aliceA})},
		{"unknown", http.MethodDelete, messagePath, http.StatusNotFound, on(nothing, request{method: http.MethodDelete, target: aliceA})},
	}
}

// sending has a message to alice that a worker is sending.
func sending(r *rig) { r.claims("a") }

func lookCases() []contractCase {
	const user = "/v1/users/{user}"
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	return []contractCase{
		{"found", http.MethodGet, foundPath, http.StatusOK, on(booked, get(messagesPath+"/a"))},
		{"none", http.MethodGet, foundPath, http.StatusNotFound, on(nothing, get(messagesPath+"/a"))},
		{"index off", http.MethodGet, foundPath, http.StatusConflict, on(unindexed, get(messagesPath+"/a"))},
		{"none", http.MethodGet, messagesPath, http.StatusOK, on(nothing, get(messagesPath))},
		{"a page", http.MethodGet, messagesPath, http.StatusOK, on(booked, get(messagesPath+"?user_prefix=al&limit=1"))},
		{"index off", http.MethodGet, messagesPath, http.StatusConflict, on(unindexed, get(messagesPath))},
		{"none", http.MethodGet, user + "/messages", http.StatusOK, on(nothing, get("/v1/users/alice/messages"))},
		{"a page", http.MethodGet, user + "/messages", http.StatusOK, on(booked, get("/v1/users/alice/messages?limit=1"))},
		{"usage", http.MethodGet, user + "/usage", http.StatusOK, on(booked, get("/v1/users/alice/usage?at="+on22("11:00:00")))},
		{"next free", http.MethodGet, user + "/next-free", http.StatusOK, on(booked, get("/v1/users/alice/next-free?count=3"))},

		{"stats", http.MethodGet, "/v1/stats", http.StatusOK, on(nothing, get("/v1/stats"))},
		{"overview", http.MethodGet, "/v1/overview", http.StatusOK, on(nothing, get("/v1/overview"))},
		{"forecast", http.MethodGet, "/v1/forecast", http.StatusOK, on(nothing, get("/v1/forecast"))},
	}
}
