package command

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
)

// At an API, commands print what they print on the store.
func TestCommandsOverTheAPI(t *testing.T) {
	t.Parallel()
	here, there := newFixture(t), newFixture(t)
	here.account(t, "ops", 0)
	here.environ = append(here.environ, "SENDLIMIT_ACCOUNT=ops")
	address, key := apitest.Serve(t, there.client, time.Now)
	there.environ = []string{"SENDLIMIT_API=" + address, "SENDLIMIT_API_KEY=" + key}
	for line := range strings.Lines(`
		push --user alice --at 2093-11-22T11:11:11Z --id a --title Hi --body You --data k=v --campaign spring
		push --user alice --at 2093-11-22T11:11:12Z --id b --title Hi
		push --user alice --at 2093-11-22T11:11:12Z --id b --title Hi --json
		push --user alice --at 2093-11-22T11:11:12Z --id b --title Hi --on-conflict shift --dry-run
		push --user alice --at 2093-11-22T11:40:00Z --id c --title Ho --campaign spring --json
		push --user alice --at 2093-11-20T11:40:00Z --id d --title Ho
		push --user alice --at 2093-11-22T15:00:00Z --shift-until 2093-11-22T16:00:00Z --id d --title Ho
		status --user alice a
		status --user alice a --json
		status --user alice nope
		find a
		find nope --json
		find --user-prefix ali
		find --status scheduled --json
		list --user alice
		list --user alice --json
		list --user bob
		usage --user alice --at 2093-11-22T11:11:11Z
		usage --user alice --at 2093-11-22T11:11:11Z --json
		next-free --user alice --from 2093-11-22T11:11:00Z --count 2
		next-free --user alice --from 2093-11-22T11:11:00Z --json
		change --user alice a --title Bye --to-channel apns --expires-at 2093-11-23T00:00:00Z
		change --user alice a --to-app shop --data k=w --without-data l --json
		move --user alice a --at 2093-11-22T11:40:01Z
		move --user alice a --at 2093-11-22T11:40:01Z --on-conflict shift
		status --user alice a
		campaign count spring
		campaign count spring --json
		campaign list spring
		campaign move spring --by 1m --dry-run
		campaign move spring --by 1m
		campaign pause spring
		campaign cancel spring --json
		cancel --user alice a
		cancel --user alice nope --json
		device add --user alice --channel fcm --token canary-canary-canary-canary-canary-123456 --id phone
		device add --user alice --channel sms --token canary --json
		device list --user alice
		device list --user alice --addresses --json
		device import -
		device remove --user alice phone
		device remove --user alice phone --json
		events
		events --after x
	`) {
		if args := strings.Fields(line); len(args) > 0 {
			here.stdin, there.stdin = strings.NewReader(importCSV), strings.NewReader(importCSV)
			require.Equal(t, here.run(t, args...), there.run(t, args...), line)
		}
	}
	lines := `{"user":"carl","send_at":"2093-11-22T11:11:11Z","id":"a","title":"Hi"}
{"user":"carl","send_at":"2093-11-22T11:11:12Z","id":"b","title":"Hi"}
{"user":"dora","send_at":"2093-11-22T11:11:11Z","id":"a","title":"Hi","image":"https://example.com/a.png"}
{"user":"dora","send_at":"soon","id":"b","title":"Hi"}
no message
{"user":"carl","send_at":"2093-11-22T11:11:12Z","id":"c","title":"Hi","on_conflict":"shift"}
{"user":"carl","send_at":"2093-11-22T11:30:00Z","id":"a","title":"Hi"}
`
	for _, line := range []string{
		"bulk - --dry-run", "bulk - --dry-run --what-if 1/calendar_day", "bulk - --from-line 2", "bulk -", "bulk -",
	} {
		here.stdin, there.stdin = strings.NewReader(lines), strings.NewReader(lines)
		args := append(strings.Fields(line), "--results", "-")
		want, got := here.run(t, args...), there.run(t, args...)
		require.Equal(t, want.stdout, got.stdout, line)
		require.Equal(t, want.status, got.status, line)
		_, want.stderr, _ = strings.Cut(want.stderr, " lines in ") // the rest says how fast
		_, got.stderr, _ = strings.Cut(got.stderr, " lines in ")
		require.Equal(t, strings.Count(want.stderr, "\n"), strings.Count(got.stderr, "\n"), got.stderr)
	}
	sent := `{"user":"carl","send_at":"2026-11-20T11:11:11Z","id":"s"}` + "\n"
	here.stdin, there.stdin = strings.NewReader(sent), strings.NewReader(sent)
	require.Equal(t, here.run(t, "bulk", "-", "--record-sent", "--results", "-").stdout, there.run(t, "bulk", "-", "--record-sent", "--results", "-").stdout)

	got := there.run(t, "push", "--user", "alice", "--at", "+1m", "--title", "Hi", "--reach", "5d")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "--reach is for the store, and the API at "+address+" answers this command")
	there.environ[1] = "SENDLIMIT_API_KEY=sk_wrong"
	got = there.run(t, "push", "--user", "alice", "--at", "+1m", "--title", "Hi")
	require.Equal(t, "error: the API at "+address+" rejects the key: it is unknown or its account is disabled; check SENDLIMIT_API_KEY or the file of --api-key-file\n", got.stderr)
	require.Contains(t, there.run(t, "list", "--user", "alice").stderr, "rejects the key")
}

// Without an API and a store, commands ask the worker on this machine, and say so where it matters.
func TestCommandsAskTheWorkerOnThisMachine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address, key := apitest.Serve(t, f.client, time.Now)
	f.environ = []string{"SENDLIMIT_LISTEN=" + strings.TrimPrefix(address, "http://")}
	push := []string{"push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--title", "Hi"}
	got := f.run(t, push...)
	require.Equal(t, 3, got.status)
	require.Equal(t, "error: the API at "+address+" requires a key: set SENDLIMIT_API_KEY, or --api-key-file to a file with the key\n",
		strings.TrimPrefix(got.stderr, "answered by the worker at "+address+", whose store is not the embedded one\n"))

	f.environ = append(f.environ, "SENDLIMIT_API_KEY="+key)
	got = f.run(t, append(push, "--json")...)
	require.Zero(t, got.status, got)
	require.Equal(t, "answered by the worker at "+address+", whose store is not the embedded one\n", got.stderr, "what a command changes")
	require.True(t, strings.HasPrefix(got.stdout, "{"), got.stdout)
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), "\nanswered by the worker at "+address+", whose store is not the embedded one\n")
	require.NotContains(t, f.prints(t, "status", "--user", "alice", "a", "--json"), "asked")
	require.Contains(t, f.run(t, append(push, "--account", "ops")...).stderr, "charges the account of the key: leave it out")
}
