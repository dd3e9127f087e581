package dashboard_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// outage is a client hook that fails the commands about keys which contain a text, and counts
// all commands.
type outage struct {
	of       atomic.Pointer[string] // nil for none
	after    atomic.Int64           // so many of them work before
	commands atomic.Int64
}

func (o *outage) begins(of string, after int64) {
	o.after.Store(after)
	o.of.Store(&of)
}

func (o *outage) ends() { o.of.Store(nil) }

// onCall fails a call that has such a command.
func (o *outage) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	for _, cmd := range cmds {
		if err := o.failure(cmd); err != nil {
			for _, one := range cmds {
				one.SetErr(err)
			}
			return err
		}
	}
	return next(ctx, cmds)
}

func (o *outage) failure(cmd redis.Cmder) error {
	o.commands.Add(1)
	if of := o.of.Load(); of != nil && strings.Contains(fmt.Sprint(cmd.Args()...), *of) && o.after.Add(-1) < 0 {
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return nil
}

// What can't be logged is not done.
func TestWithoutTheAuditLogNothingIsChanged(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	b.submits("m", "+1h")
	b.fails("dead")
	var away outage
	b.client.AddHook(redistest.Calls(away.onCall))
	messages, submit, _ := b.judged("spring", file)
	before := b.store.Dump()
	away.begins("{audit}", 0)
	changes := 0
	for _, q := range requests() {
		switch q.route {
		case "POST /login", "POST /logout", "POST /plan/read", "POST /plan/judge", "POST /plan/submit", "POST /policy/check", "POST /policy/dry-run", "POST /policy/apply", "POST /policy/refit", "POST /dead-letters":
			continue // no changes, or others below
		}
		if strings.HasPrefix(q.route, "POST ") {
			got := q.send(b, script())
			require.Equal(t, "unavailable", got.json(http.StatusServiceUnavailable)["code"], q.route)
			require.Equal(t, "2", got.header.Get("Retry-After"))
			got = q.send(b)
			require.Equal(t, http.StatusServiceUnavailable, got.status, q.route)
			require.Contains(t, got.page().plain(), "Nothing is lost.")
			changes++
		}
	}
	require.Equal(t, 18, changes)
	require.Equal(t, http.StatusServiceUnavailable, b.plan(submit, messages).status)
	require.Equal(t, http.StatusServiceUnavailable, b.post("/policy/refit", "name", "default", "then", "cancel", "confirmed", "yes").status)
	for target, fields := range map[string][]string{
		"/policy/apply":   {"name", "default", "rules", "7/minute", "version", "1", "confirmed", "yes"},
		"/dead-letters":   {"chosen", "alice dead", "do", "purge", "confirmed", "yes"},
		"/message/cancel": {"user", "alice", "id", "m", "confirmed", "yes"},
		"/user/erase":     {"name", "alice", "confirmed", "yes"},
		"/tiers":          {"tier", "gold"},
	} {
		require.Equal(t, http.StatusServiceUnavailable, b.post(target, fields...).status, target)
	}
	require.Equal(t, http.StatusServiceUnavailable, b.get("/message?user=alice&id=m&content=yes").status, "to show the content is an entry too")
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(b.store.Dump()))
	away.ends()
	require.Empty(t, b.entries())
}

// A change whose end can't be logged is made, and its entry says that its end is not known.
func TestAChangeWhoseEndIsNotLogged(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	var away outage
	b.client.AddHook(redistest.Calls(away.onCall))
	b.done(b.post("/tiers", "tier", "first")) // the scripts are in the store
	away.begins("{audit}", 1)
	got := b.post("/tiers", "tier", "gold")
	away.ends()
	require.Contains(t, b.done(got), "The tier gold was saved.")
	require.Contains(t, b.shows("/tiers").plain(), "gold")
	require.Empty(t, b.entries()[0].Outcome)
	require.Contains(t, b.shows("/audit").plain(), "running, or its end is unknown")
	require.Contains(t, b.log.String(), "an entry of the audit log stays without its outcome")
}

// Something that went wrong is logged as failed, and the address of the store stays away.
func TestAChangeThatFails(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	var away outage
	b.client.AddHook(redistest.Calls(away.onCall))
	away.begins("{accounts}", 0)
	got := b.postScript("/tiers", "tier", "gold")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	away.ends()
	require.Len(t, b.entries(), 1)
	require.Equal(t, audit.Failed, b.entries()[0].Outcome)
	require.Equal(t, "unavailable", b.entries()[0].Code)
}

// The filters of the audit log.
func TestTheAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	b.done(b.post("/tiers", "tier", "gold"))
	b.done(b.post("/user/settings", "name", "alice"))
	b.passes(time.Minute)
	b.done(b.post("/tiers", "tier", "silver"))
	for query, found := range map[string]int{
		"": 3, "?action=set+tier": 2, "?object=gold": 1, "?user=alice": 1, "?user=ALICE": 0, "?account=ops": 0,
		"?from=2026-11-21T10:00:30Z": 1, "?until=2026-11-21T10:00:30Z": 2, "?from=2026-11-21": 3, "?until=2026-11-21": 0, "?from=2026-11-21+10:01": 1,
	} {
		shown := b.shows("/audit" + query)
		require.Len(t, shown.cells(), max(found+1, 1)*min(found, 1), "%s: %s", query, shown.plain())
	}
	got := b.get("/audit?from=yesterday&action=set+tier")
	require.Equal(t, invalid, got.status)
	require.Contains(t, got.page().plain(), `"yesterday" is not allowed: use an RFC 3339 time such as`)
	require.Equal(t, "set tier", got.page().value("action"))
	require.Equal(t, "yesterday", got.page().value("from"))
}
