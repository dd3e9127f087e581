package command

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

func TestARefusalInQuietHoursExplainsItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(t, fullPolicy(t))
	args := []string{"push", "--user", "alice", "--at", "2093-11-23T23:30:00Z", "--title", "Hi", "--id", "a"}
	got := f.run(t, append(args, "--tz", "Europe/Berlin")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "refused: alice can't get a message at 2093-11-24 00:30:00 CET\n")
	require.Contains(t, got.stdout, "\n  22:00-08:00  quiet hours in Europe/Berlin (2093-11-23 22:00:00 CET to 2093-11-24 08:00:00 CET)\n")
	require.Contains(t, got.stdout, "\n  free before  2093-11-23 21:59:59.999 CET\n  next free    2093-11-24 08:00:00 CET\n")
	_, try, found := strings.Cut(got.stdout, "\n  try  sendlimit ")
	require.True(t, found)
	require.Zero(t, f.run(t, strings.Fields(try)...).status, "what it says to try is accepted")
	json := f.run(t, append(args, "--json", "--id", "b")...)
	require.Equal(t, 3, json.status)
	require.Contains(t, json.stdout, `"code":"quiet_hours"`)
	require.Contains(t, json.stdout, `"quiet_hours":{"hours":"22:00-08:00","time_zone":"Europe/Berlin",`+
		`"from":"2093-11-23T21:00:00.000Z","until":"2093-11-24T07:00:00.000Z"}`)
}

func TestARefusalOfABlockedUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings, err := settings.NewUsers(f.client, "")
	require.NoError(t, err)
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	got := f.run(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.True(t, strings.HasPrefix(got.stdout, "refused: alice is blocked"), got.stdout)
	require.Contains(t, f.run(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi", "--json").stdout, `"code":"blocked"`)
	_, summary := f.bulk(t, fileOf(t, messageLine("alice", "11:11:11")), "--dry-run")
	require.Contains(t, summary, `"refused_by_rule":{},"refused_by_code":{"blocked":1}`)
	require.Contains(t, f.prints(t, "usage", "--user", "alice"), "\n  blocked: no message is accepted\n")
	require.Contains(t, f.prints(t, "usage", "--user", "alice", "--json"), `"free":[],"blocked":true,`)
	require.NotContains(t, f.prints(t, "usage", "--user", "bob"), "blocked")
	require.NotContains(t, f.prints(t, "usage", "--user", "bob", "--json"), "blocked")
}

func TestUsageAndNextFreeOfACategory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(t, fullPolicy(t))
	for _, id := range []string{"a", "b"} {
		f.prints(t, "push", "--user", "alice", "--at", "2093-11-23T1"+map[string]string{"a": "1", "b": "2"}[id]+":00:00Z",
			"--id", id, "--title", "Hi", "--category", "marketing")
	}
	span := []string{"usage", "--user", "alice", "--at", "2093-11-23T15:00:00Z", "--from", "2093-11-23T05:00:00Z", "--until", "2093-11-24T05:00:00Z"}
	all := f.prints(t, span...)
	require.NotContains(t, all, "marketing")
	require.Contains(t, all, "  07:00  ---")
	require.Contains(t, all, "  06:00  ....")
	require.Contains(t, all, ". quiet")
	marketing := f.prints(t, append(span, "--category", "marketing")...)
	require.Contains(t, marketing, "  marketing 2/calendar_day  ####################  2/2 ")
	require.Contains(t, marketing, "  15:00  ####")
	require.Contains(t, f.prints(t, append(span, "--category", "marketing", "--json")...), `"quiet":[{"from":"2093-11-23T05:00:00.000Z",`)
	require.Contains(t, f.prints(t, "next-free", "--user", "alice", "--from", "2093-11-23T15:00:00Z"), "2093-11-23 15:00:00 UTC")
	require.Contains(t, f.prints(t, "next-free", "--user", "alice", "--from", "2093-11-23T15:00:00Z", "--category", "marketing"),
		"2093-11-24 07:00:00 UTC")
	bad := f.run(t, "next-free", "--user", "alice", "--category", "A B")
	require.Equal(t, 2, bad.status, bad)
	require.Contains(t, bad.stderr, `category "A B" is not allowed`)
}

// A user may have only so many messages in a day, whatever the rules allow.
func TestARefusalOfAFullDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.environ = append(f.environ, "SENDLIMIT_PLACES_PER_DAY=2")
	push := []string{"push", "--user", "alice", "--title", "Hi"}
	for _, clock := range []string{"11:11:11", "12:11:11"} {
		require.Zero(t, f.run(t, append(push, "--at", on22(clock))...).status)
	}
	const sentence = "alice already has 2 messages on 2093-11-22 (UTC), the most that the setting places_per_day allows; the next free time is 2093-11-23 00:00:00"
	got := f.run(t, append(push, "--at", on22("15:00:00"))...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "refused: "+sentence)
}

// full has the store say that it uses 90 of 100 MB.
func (f *fixture) full() {
	f.server.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command == "INFO" {
			peer.WriteBulk("redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n" +
				"used_memory:94371840\r\nmaxmemory:104857600\r\n")
		}
		return command == "INFO"
	})
}

func (f *fixture) fullSentence() string {
	return "Redis at " + f.server.Addr() + " is 90 % full (90.0 of 100.0 MB), and takes no more messages from 85 % on (store_full_at)," +
		" so that those it has can be delivered: raise its maxmemory, or wait until messages are delivered and their records expire"
}

func TestPushToAFullStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.full()
	args := []string{"push", "--user", "alice", "--at", on22("12:12:12"), "--title", "Hi", "--id", "b", "--json"}
	got := f.run(t, args...)
	require.Equal(t, cli.StatusUnavailable, got.status)
	require.JSONEq(t, `{"outcome":"error","code":"store_full","id":"b","user":"alice","detail":"`+f.fullSentence()+`"}`, got.stdout)
	require.NotContains(t, f.everything(), "b/alice")
	said := f.run(t, args[:len(args)-1]...)
	require.Equal(t, "error: "+f.fullSentence()+"\n", said.stderr, "it is known that nothing was accepted")

	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi", "--id", "a")
	f.prints(t, "move", "a", "--user", "alice", "--at", on22("11:11:11"))
	moved := f.run(t, "move", "a", "--user", "alice", "--at", on22("13:13:13"))
	require.Equal(t, cli.StatusUnavailable, moved.status)
	require.Equal(t, "error: "+f.fullSentence()+"\n", moved.stderr)
	f.prints(t, "cancel", "a", "--user", "alice")
	f.prints(t, append(args, "--store-full-at", "95%")...)
}

func TestBulkToAFullStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "bulk", fileOf(t, messageLine("alice", "11:11:11")))
	f.full()
	path := fileOf(t, messageLine("alice", "11:11:11"), messageLine("alice", "11:11:12"), messageLine("alice", "12:12:12"), messageLine("alice", "13:13:13"))
	got := f.run(t, "bulk", path)
	require.Equal(t, cli.StatusUnavailable, got.status)
	require.Contains(t, got.stdout, "replayed    1")
	require.Contains(t, got.stdout, "refused     1")
	require.Contains(t, got.stdout, "errors      1  the store is full")
	require.Contains(t, got.stdout, "3 lines in ")
	require.Contains(t, got.stderr, "error: stopped at line 3: "+f.fullSentence()+
		"; continue with --from-line 3, or run it again: no line is accepted twice\n")
}

// The store that did not take a line has answered, as a rule.
func TestWhyLinesHaveNoOutcome(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"the store is full": &fault.UnavailableError{Full: true, Detail: "Redis is full"},
		"the store did not confirm them, but may have stored them": store.Explain(context.DeadlineExceeded, "reserving"),
		"the store did not accept them":                            &fault.UnavailableError{Detail: "Redis wants a password"},
	} {
		require.Equal(t, want, failureOf(fmt.Errorf("submitting: %w", err)))
	}
	require.Equal(t, "the store did not confirm them, but may have stored them", failureOf(&fault.UnavailableError{
		Detail: "Redis has it on 0 of 1 replicas after 1s (wait_replicas): the request may have been carried out," +
			" and it is safe to send it again with the same id",
	}))
}
