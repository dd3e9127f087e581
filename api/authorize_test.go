package api_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// locked makes the API require keys.
func locked(o *api.Options) { o.RequireKeys = true }

// Every operation has a rule of access.
func TestEveryOperationHasAScope(t *testing.T) {
	t.Parallel()
	tried := make(map[string]bool)
	for _, o := range operations() {
		require.NotEmpty(t, scopeOf(o), "%s %s", o.method, o.path)
		tried[strings.ToLower(o.method)+" "+o.path] = true
	}
	for path, methods := range readContract(newRig(t)).Paths {
		for method := range methods {
			require.True(t, tried[method+" "+path], "nothing says who may %s %s", method, path)
		}
	}
}

// behindProxy has each request come from another address, as a proxy says.
func behindProxy(o *api.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// from has a request come from an address.
func (q request) from(address string) request {
	q.header = q.header.Clone()
	if q.header == nil {
		q.header = make(http.Header)
	}
	q.header.Set("X-Forwarded-For", address)
	return q
}

// The matrix: every operation, and every kind of caller.
func TestWhoMayDoWhat(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	open, r := newRig(t), newRig(t, locked, behindProxy)
	r.key("expired", accounts.ScopeRead)
	expired, _, err := r.accounts.AddKey(t.Context(), "expired", []accounts.Scope{accounts.ScopeAdmin}, now().Add(time.Minute), nil)
	require.NoError(t, err)
	r.store.SetTime(now().Add(time.Minute))
	disabled, yes := r.key("disabled", accounts.ScopeAdmin), true
	_, err = r.accounts.Set(t.Context(), "disabled", accounts.Change{Disabled: &yes})
	require.NoError(t, err)
	refused := []int{http.StatusUnauthorized, http.StatusForbidden}
	for i, o := range operations() {
		what, q := o.method+" "+o.path, o.request().from(fmt.Sprintf("192.0.2.%d", i))
		q.target = strings.ReplaceAll(q.target, "?account=acme", "?account=own-"+strconv.Itoa(i)) // the key's own
		nobody := r.send(q)
		require.Equal(t, fault.CodeUnauthorized, r.problem(http.StatusUnauthorized, nobody).Code, what)
		require.Equal(t, `Bearer realm="sendlimit"`, nobody.header.Get("WWW-Authenticate"))
		told := make(map[string]bool)
		for _, secret := range []string{"sk_wrong", expired, disabled} {
			got := r.with(secret, q)
			p := r.problem(http.StatusUnauthorized, got)
			require.Equal(t, fault.CodeUnauthorized, p.Code, what)
			require.Contains(t, got.header.Get("WWW-Authenticate"), `error="invalid_token"`)
			p.Instance = ""
			told[fmt.Sprintf("%v %s", p, got.header.Get("WWW-Authenticate"))] = true
		}
		require.Len(t, told, 1, "nobody can tell a key that was valid from a wrong one")
		for _, scope := range []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead, accounts.ScopeAdmin} {
			got := r.with(r.key("own-"+strconv.Itoa(i), scope), q)
			if scope == accounts.ScopeAdmin && what == http.MethodPut+" "+callbackPath { // of another account
				require.Contains(t, got.header.Get("WWW-Authenticate"), `scope="content"`)
				continue
			}
			if scope == scopeOf(o) || scope == accounts.ScopeAdmin {
				require.NotContains(t, refused, got.status, "%s with %s", what, scope)
				continue
			}
			require.Equal(t, "forbidden", string(r.problem(http.StatusForbidden, got).Code), "%s with %s", what, scope)
			require.Contains(t, got.header.Get("WWW-Authenticate"), `scope="`+string(scopeOf(o))+`"`)
		}
		// Where keys are optional, a request without a key is the operator's, and a wrong key is
		// refused.
		require.NotContains(t, refused, open.send(o.request()).status, what)
	}
	require.NotContains(t, r.log.String(), "sk_", "no key is logged")
}

// No other spelling of a request is let through where the request itself is not.
func TestNoSpellingIsLetThrough(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, locked)
	reader := r.key("acme", accounts.ScopeRead)
	require.NoError(t, r.accounts.SetTier(t.Context(), accounts.Tier{Name: "free"}))
	before := r.store.Dump()
	ask := func(line string, o operation, headers ...string) int {
		t.Helper()
		text := fmt.Sprintf("%s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s",
			line, o.mediaType(), len(o.body), strings.Join(headers, ""), o.body)
		q, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err, text)
		got := httptest.NewRecorder()
		r.handler.ServeHTTP(got, q.WithContext(t.Context()))
		harmless(t, got, text)
		return got.Code
	}
	for _, o := range operations() {
		for _, target := range []string{
			o.target, o.target + "/", "/" + o.target, o.target + "//", "/." + o.target, "/x/.." + o.target, "/docs/.." + o.target, o.target + "/.",
			strings.ToUpper(o.target), strings.Replace(o.target, "/v1", "/%76%31", 1), strings.Replace(o.target, "/v1/", "/v1%2F", 1),
			o.target + ";a=b", o.target + "%00", o.target + "?key=" + reader, "http://127.0.0.1" + o.target, "http://user:password@a" + o.target,
		} {
			for _, method := range []string{o.method, http.MethodHead, http.MethodOptions, http.MethodTrace, strings.ToLower(o.method), "X"} {
				status := ask(method+" "+target, o)
				require.GreaterOrEqual(t, status, 400, "%s %s", method, target)
			}
		}
		if scopeOf(o) == accounts.ScopeRead {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
				ask(method+" "+o.target+"?", o, "Authorization: Bearer "+reader+"\r\n", header+": "+o.method+"\r\n")
			}
			ask(method+" "+o.target, o, "Authorization: Bearer "+reader+"\r\n", "X-Original-URL: "+o.target+"\r\n", "X-Rewrite-URL: /docs\r\n")
		}
	}
	require.Equal(t, before, r.store.Dump(), "nothing was done")
}

// Of another account's message nobody can tell that it is there. Only a PUT says, as a submit does,
// that its id is used.
func TestOthersMessagesAreNotFound(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		if !strings.HasPrefix(o.path, "/v1/users/{user}/messages") || o.method == http.MethodPut {
			continue
		}
		t.Run(o.method+" "+o.path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, locked)
			both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
			own, other, operator := r.key("own", both...), r.key("other", both...), r.key("operator", accounts.ScopeAdmin)
			q := o.request()
			if q.method == http.MethodPatch {
				q.body = `{"send_at":"` + on22("18:00:00") + `"}`
			}
			unknown := r.with(other, q)
			draft := request{method: http.MethodPost, target: messagesPath, body: `{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`}
			require.Equal(t, http.StatusCreated, r.with(own, draft).status)

			foreign := r.with(other, q)
			require.Equal(t, unknown.status, foreign.status)
			instance := regexp.MustCompile(`"instance":"[^"]*"`)
			require.Equal(t, instance.ReplaceAllString(string(unknown.body), ""), instance.ReplaceAllString(string(foreign.body), ""),
				"as if there were none")
			listed := o.path == "/v1/users/{user}/messages"
			require.Equal(t, listed, foreign.status == http.StatusOK)
			require.NotContains(t, string(foreign.body), "11:11:11")

			for _, secret := range []string{own, operator} {
				got := r.with(secret, q)
				require.Equal(t, http.StatusOK, got.status, string(got.body))
				require.Contains(t, string(got.body), `"id":"a"`)
			}
		})
	}
}

// A conflict shows its time, and its id only to its account.
func TestOthersConflictsHaveNoID(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	own, other, operator := r.key("own", both...), r.key("other", both...), r.key("operator", accounts.ScopeAdmin)
	draft := func(user, id, clock string) string {
		return `{"user":"` + user + `","id":"` + id + `","send_at":"` + on22(clock) + `","title":"Hi"}`
	}
	post := func(target, body string) request {
		q := request{method: http.MethodPost, target: target, body: body}
		if target == batchPath || target == checkBatchPath {
			q.header = http.Header{"Content-Type": {"application/x-ndjson"}}
		}
		return q
	}
	require.Equal(t, http.StatusCreated, r.with(own, post(messagesPath, draft("alice", "secret-id", "11:11:11"))).status)
	require.Equal(t, http.StatusCreated, r.with(other, post(messagesPath, draft("alice", "theirs", "13:00:00"))).status)
	for name, q := range map[string]request{
		"submit":             post(messagesPath, draft("alice", "b", "11:11:12")),
		"dry run":            post(messagesPath+"/dry-run", draft("alice", "b", "11:11:12")),
		"batch":              post(batchPath, draft("alice", "b", "11:11:12")),
		"dry run of a batch": post(checkBatchPath, draft("alice", "b", "11:11:12")),
		"move":               {method: http.MethodPatch, target: "/v1/users/alice/messages/theirs", body: `{"send_at":"` + on22("11:11:12") + `"}`},
		"usage":              {method: http.MethodGet, target: "/v1/users/alice/usage?at=" + on22("11:00:00")},
	} {
		theirs := string(r.with(other, q).body)
		require.Contains(t, theirs, on22("11:11:11.000"), name)
		require.NotContains(t, theirs, "secret-id", name)
		require.NotContains(t, theirs, `"own"`, name)
		if name != "usage" {
			require.Contains(t, theirs, `"others":"all"`, name)
			require.Contains(t, theirs, "; all messages in the way are other accounts'", name)
		}
		if name != "move" { // which is of the other's message
			require.Contains(t, string(r.with(own, q).body), "secret-id", name)
		}
		require.Contains(t, string(r.with(operator, q).body), "secret-id", name)
	}
	usage := into[message.Usage](t, http.StatusOK, r.with(other, request{method: http.MethodGet, target: "/v1/users/alice/usage?at=" + on22("11:00:00")}))
	require.Len(t, usage.Sends, 2)
	require.Equal(t, []string{"", "theirs"}, []string{usage.Sends[0].ID, usage.Sends[1].ID})
}
