package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// A clock of the server that a test moves.
type clock struct {
	begin sync.Once
	began time.Time
	ahead atomic.Int64
}

// now returns the same time until some passes, however long the machine takes.
func (c *clock) now() time.Time {
	c.begin.Do(func() { c.began = time.Now() })
	return c.began.Add(time.Duration(c.ahead.Load()))
}

func (c *clock) passes(d time.Duration) { c.ahead.Add(int64(d)) }

// stats requests something that needs the scope admin.
func stats() request { return request{method: http.MethodGet, target: "/v1/stats"} }

func TestHeadersThatAreNoKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := r.key("own", accounts.ScopeAdmin)
	for _, header := range [][]string{
		{""}, {"Bearer"}, {"Bearer "}, {secret}, {"Basic " + secret}, {"Bearer " + secret + " more"}, {"Bearer " + secret, "Bearer " + secret},
	} {
		q := stats()
		q.header = http.Header{"Authorization": header}
		require.Equal(t, fault.CodeUnauthorized, r.problem(http.StatusUnauthorized, r.send(q)).Code, header)
	}
	q := stats()
	q.header = http.Header{"Authorization": {"bearer  " + secret}}
	require.Equal(t, http.StatusOK, r.send(q).status, "schemes are written in any case")
}

// A key that was valid is taken for valid for a second, and not longer.
func TestAKeyIsLookedUpOnceASecond(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, func(o *api.Options) { o.Now = c.now })
	secret := r.key("own", accounts.ScopeAdmin)
	require.Equal(t, http.StatusOK, r.with(secret, stats()).status)
	_, err := r.accounts.RemoveKey(t.Context(), "own", secret[3:11], nil)
	require.NoError(t, err)
	c.passes(500 * time.Millisecond)
	require.Equal(t, http.StatusOK, r.with(secret, stats()).status)
	c.passes(500 * time.Millisecond)
	r.problem(http.StatusUnauthorized, r.with(secret, stats()))

	// Nor longer than it is valid by this clock.
	r.store.SetTime(c.now())
	expires := c.now().Add(time.Hour)
	expiring, _, err := r.accounts.AddKey(t.Context(), "own", []accounts.Scope{accounts.ScopeAdmin}, expires, nil)
	require.NoError(t, err)
	c.passes(time.Hour - 500*time.Millisecond)
	require.Equal(t, http.StatusOK, r.with(expiring, stats()).status)
	r.store.SetTime(expires)
	c.passes(500 * time.Millisecond)
	r.problem(http.StatusUnauthorized, r.with(expiring, stats()))
}

func TestFailedLoginsAreThrottled(t *testing.T) {
	t.Parallel()
	var c clock
	var refused atomic.Int64
	r := newRig(t, locked, behindProxy, func(o *api.Options) {
		o.Now = c.now
		o.LoginRefused = func() { refused.Add(1) }
	})
	valid, seen := r.key("own", accounts.ScopeAdmin), r.key("own", accounts.ScopeAdmin)
	here := stats().from("2001:db8:0:1::1")
	require.Equal(t, http.StatusOK, r.with(seen, here).status)
	for i := range 10 {
		r.problem(http.StatusUnauthorized, r.with("sk_"+strconv.Itoa(i), here.from("2001:db8:0:1::"+strconv.Itoa(i))))
	}
	over := r.with("sk_x", here)
	require.Equal(t, fault.CodeRateLimited, r.problem(http.StatusTooManyRequests, over).Code)
	require.Equal(t, "60", over.header.Get("Retry-After"))
	require.Equal(t, int64(11), refused.Load())
	require.Equal(t, []string{"address=2001:db8:0:1::/64 wait=1m0s others_before=0"}, r.blocked())
	require.Equal(t, http.StatusOK, r.with(valid, here).status, "a valid key need not wait, though this is its first request")
	r.problem(http.StatusTooManyRequests, r.with("sk_y", here))
	require.Equal(t, int64(12), refused.Load())
	c.passes(2 * time.Second)
	require.Equal(t, http.StatusOK, r.with(seen, here).status, "one that was valid before is looked at")
	require.Equal(t, http.StatusOK, r.with(valid, here.from("2001:db8:0:2::1")).status, "elsewhere")
	r.problem(http.StatusUnauthorized, r.send(here)) // no key is no guess

	c.passes(time.Minute)
	r.store.FastForward(time.Minute)
	r.store.SetTime(now().Add(time.Minute))
	require.Equal(t, http.StatusOK, r.with(valid, here).status)
	r.problem(http.StatusUnauthorized, r.with("sk_x", here))
	require.Contains(t, r.log.String(), " account=own key="+valid[3:11]+" request_id=", "who asked is in the log at the level debug")
}

// blocked returns the log's lines about addresses that sent wrong keys.
func (r *rig) blocked() (lines []string) {
	for line := range strings.Lines(r.log.String()) {
		if _, after, found := strings.Cut(line, `level=WARN msg="wrong keys come from an address, which now waits" `); found {
			lines = append(lines, after[:strings.Index(after, " request_id=")])
		}
	}
	return lines
}

// Anybody can have many addresses blocked: the log has one a minute.
func TestBlockedAddressesAreToldOnceAMinute(t *testing.T) {
	t.Parallel()
	var c clock
	r := newRig(t, locked, behindProxy, func(o *api.Options) { o.Now = c.now })
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"} {
		if address == "192.0.2.4" {
			c.passes(time.Minute)
		}
		for range 11 {
			r.with("sk_x", stats().from(address))
		}
	}
	require.Equal(t, []string{"address=192.0.2.1 wait=1m0s others_before=0", "address=192.0.2.4 wait=1m0s others_before=2"}, r.blocked())
}

// A client can forge the addresses in X-Forwarded-For before the last proxy.
func TestForwardedAddressesAreNotBelieved(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options   func(*api.Options)
		forwarded func(i int) string
	}{
		"no proxy is trusted": {locked, func(i int) string { return "192.0.2." + strconv.Itoa(i) }},
		"written by the client": {behindProxy, func(i int) string {
			return "192.0.2." + strconv.Itoa(i) + ", 198.51.100.7, 127.0.0.9"
		}},
		"no address": {behindProxy, func(i int) string { return "192.0.2." + strconv.Itoa(i) + ", nonsense" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, row.options)
			for i := range 10 {
				r.problem(http.StatusUnauthorized, r.with("sk_wrong", stats().from(row.forwarded(i))))
			}
			r.problem(http.StatusTooManyRequests, r.with("sk_wrong", stats().from(row.forwarded(99))))
		})
	}
}

// rotation asks for a new key in the place of one.
func rotation(account, secret, body string) request {
	return request{method: http.MethodPost, target: "/v1/accounts/" + account + "/keys/" + secret[3:11] + "/rotate", body: body}
}

// The contact of an account is told of each change of its keys, before it.
func TestAContactIsToldOfChangedKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.key("acme", accounts.ScopeRead)
	added := into[message.NewAPIKey](t, http.StatusCreated, r.post("/v1/accounts/acme/keys", `{"scopes":["submit","read"]}`))
	require.Equal(t, http.StatusCreated, r.send(rotation("acme", old, `{}`)).status)
	remove := request{method: http.MethodDelete, target: "/v1/accounts/acme/keys/" + added.ID}
	require.Equal(t, http.StatusOK, r.send(remove).status)
	for _, q := range []request{remove, rotation("acme", added.Secret, `{}`), {method: http.MethodPost, target: "/v1/accounts/nobody/keys", body: `{}`}} {
		r.problem(http.StatusNotFound, r.send(q))
	}
	for range accounts.MaxKeys - 2 {
		r.key("acme", accounts.ScopeRead)
	}
	r.problem(http.StatusUnprocessableEntity, r.post("/v1/accounts/acme/keys", `{}`))
	var told []string
	for i := range 4 { // the clock stands still
		id := notices.FormatID(notices.KeysChanged, now().Add(time.Duration(i)*time.Millisecond), 0, "acme")
		claim, err := r.options.Notices.Claim(t.Context(), id, "n", time.Minute, time.Time{})
		require.NoError(t, err)
		told = append(told, string(claim.Notice.Details))
	}
	require.Equal(t, []string{
		`{"change":"added","scopes":["submit","read"]}`, `{"change":"replaced","key":"` + old[3:11] + `"}`, `{"change":"removed","key":"` + added.ID + `"}`, "",
	}, told)
}

// A rotated key ends after the overlap, and its successor stays.
func TestARotatedKeyEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	old := r.key("acme", accounts.ScopeRead)
	rotate := func(secret, body string) message.NewAPIKey {
		t.Helper()
		return into[message.NewAPIKey](t, http.StatusCreated, r.send(rotation("acme", secret, body)))
	}
	ends := func(secret string) time.Time {
		t.Helper()
		for _, key := range into[message.Account](t, http.StatusOK, r.get("/v1/accounts/acme")).Keys {
			if key.ID == secret[3:11] {
				return key.ExpiresAt.Time
			}
		}
		return now() // it has ended
	}
	usage := request{method: http.MethodGet, target: "/v1/usage"}

	next := rotate(old, `{"overlap":null}`)
	require.Equal(t, []message.Scope{message.ScopeRead}, next.Scopes)
	require.Equal(t, next.Secret[3:11], next.ID)
	require.True(t, next.ExpiresAt.IsZero())
	require.Equal(t, now().Add(accounts.DefaultOverlap), ends(old))
	rotate(old, `{"overlap":"30s"}`)
	require.Equal(t, now().Add(30*time.Second), ends(old), "earlier")
	rotate(old, `{}`)
	require.Equal(t, now().Add(30*time.Second), ends(old), "never later")
	r.store.SetTime(now().Add(30 * time.Second))
	r.problem(http.StatusUnauthorized, r.with(old, usage))
	r.problem(http.StatusNotFound, r.send(rotation("acme", old, `{}`)))

	last := rotate(next.Secret, `{"overlap":"0"}`)
	require.Equal(t, now(), ends(next.Secret))
	r.problem(http.StatusUnauthorized, r.with(next.Secret, usage))
	require.Equal(t, http.StatusOK, r.with(last.Secret, usage).status)
	require.NotContains(t, r.log.String(), "sk_", "no key is logged")
	require.Contains(t, r.log.String(), `level=INFO msg="a key was created" owner=acme owner_key=`+last.ID+` account="" key="" replaces=`+next.ID)
	require.Equal(t, http.StatusOK, r.send(request{method: http.MethodDelete, target: "/v1/accounts/acme/keys/" + last.ID}).status)
	require.Contains(t, r.log.String(), `level=INFO msg="a key was removed" owner=acme owner_key=`+last.ID)
	require.NotContains(t, r.log.String(), last.Secret[11:])
}

// While a key is rotated, its client is never shut out.
func TestRotationWithoutAGap(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	var current atomic.Value
	current.Store(r.key("own", accounts.ScopeAdmin))
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var asked atomic.Int64
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				secret, _ := current.Load().(string)
				if got := r.with(secret, stats()); got.status != http.StatusOK {
					t.Errorf("shut out: %d %s", got.status, got.body)
					return
				}
				asked.Add(1)
			}
		})
	}
	for i := range int64(5) {
		secret, _ := current.Load().(string)
		next := into[message.NewAPIKey](t, http.StatusCreated, r.with(secret, rotation("own", secret, `{"overlap":"1h"}`))).Secret
		require.Eventually(t, func() bool { return asked.Load() > 20*i }, time.Minute, time.Millisecond, "the old one still works")
		current.Store(next)
	}
	close(stop)
	clients.Wait()
}

// An account's requests are counted in its tier: those that submit, those that read, and
// all others, each kind together and apart from the others.
func TestRequestsOfATierAreLimited(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	kinds := map[string][]operation{}
	for _, o := range operations() {
		switch {
		case o.method == http.MethodPut && scopeOf(o) == accounts.ScopeSubmit, o.method == http.MethodPost && scopeOf(o) == accounts.ScopeSubmit &&
			!strings.HasPrefix(o.path, deadEventsPath) && !strings.HasPrefix(o.path, campaignPath) && o.path != devicesPath:
			kinds["requests_per_minute"] = append(kinds["requests_per_minute"], o)
		case o.method == http.MethodGet:
			kinds["reads_per_minute"] = append(kinds["reads_per_minute"], o)
		default:
			kinds["changes_per_minute"] = append(kinds["changes_per_minute"], o)
		}
	}
	require.Len(t, kinds["requests_per_minute"], 5)
	limit := 20
	for _, all := range kinds {
		limit = max(limit, len(all)+1)
	}
	r := newRig(t, locked)
	require.NoError(t, r.accounts.SetTier(t.Context(), accounts.Tier{Name: "small", RequestsPerMinute: int64(limit)}))
	_, err := r.accounts.Create(t.Context(), accounts.Account{Name: "own", Tier: "small"})
	require.NoError(t, err)
	secret, other := r.key("own", accounts.ScopeAdmin), r.key("other", accounts.ScopeAdmin)
	for counter, all := range kinds {
		require.Less(t, len(all), limit)
		for used := range limit {
			o := all[used%len(all)]
			got := r.with(secret, o.request())
			require.NotEqual(t, http.StatusTooManyRequests, got.status, string(got.body))
			require.Equal(t, `"`+counter+`";r=`+strconv.Itoa(limit-1-used)+`;t=60`, got.header.Get("RateLimit"), "%s %s: %s", o.method, o.path, got.body)
		}
		for _, o := range all {
			over := r.with(secret, o.request())
			require.Equal(t, fault.CodeRateLimited, r.problem(http.StatusTooManyRequests, over).Code)
			require.Equal(t, "60", over.header.Get("Retry-After"))
			require.Equal(t, `"`+counter+`";q=`+strconv.Itoa(limit)+`;w=60`, over.header.Get("RateLimit-Policy"))
			require.NotEqual(t, http.StatusTooManyRequests, r.with(other, o.request()).status, "another account")
		}
	}
}

// The events of requests can have limits, which hold for each account. Requests without a
// key and those that monitor have none.
func TestRequestsAreLimitedAsEvents(t *testing.T) {
	t.Parallel()
	metrics := func(o *api.Options) { o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}) }
	r := newRig(t, metrics)
	events := counters.NewEvents(r.client, keyspace.KeysUnder(""))
	for event, q := range map[string]request{
		"read":   {method: http.MethodGet, target: "/v1/users/alice/usage"},
		"change": {method: http.MethodDelete, target: "/v1/users/alice/messages/a"},
		"submit": {method: http.MethodPost, target: "/v1/messages/dry-run", body: `{}`},
	} {
		require.NoError(t, events.Set(t.Context(), counters.EventLimits{Name: event, PerMinute: 1}))
		secret := r.key(event, accounts.ScopeSubmit, accounts.ScopeRead, accounts.ScopeAdmin)
		require.NotEqual(t, http.StatusTooManyRequests, r.with(secret, q).status, event)
		require.Equal(t, http.StatusTooManyRequests, r.with(secret, q).status, event)
		require.NotEqual(t, http.StatusTooManyRequests, r.send(q).status, "no key, no account")
		require.Equal(t, http.StatusOK, r.with(secret, request{method: http.MethodGet, target: "/metrics"}).status)
	}
}
