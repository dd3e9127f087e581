package command

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for args, want := range map[string]string{
		"push --usr alice":                "unknown flag: --usr (did you mean --user?); see sendlimit push --help",
		"lst --user alice":                `unknown command "lst" for "sendlimit" (did you mean list?); see sendlimit --help`,
		"list --user a --reach 5d":        "unknown flag: --reach",
		"send":                            `unknown command "send"`,
		"push":                            "--at and --user are missing; see sendlimit push --help",
		"push --user alice --at now more": `unexpected argument "more": push has only flags; see sendlimit push --help`,
		"push --when now":                 "unknown flag: --when; see sendlimit push --help",
		"cancel --user alice":             "ID is missing; see sendlimit cancel --help",
		"cancel --user alice a b":         `unexpected argument "b": give one ID; see sendlimit cancel --help`,
		"bulk":                            "FILE is missing; see sendlimit bulk --help",
		"next-free --user a --count x":    `count "x" is not allowed: use a whole number`,
	} {
		got := f.run(t, strings.Fields(args)...)
		require.Equal(t, 2, got.status, args)
		require.Empty(t, got.stdout)
		require.Contains(t, got.stderr, want, args)
		got = f.run(t, append(strings.Fields(args), "--json")...)
		require.Equal(t, 2, got.status, args)
		require.Empty(t, got.stderr)
		require.True(t, strings.HasPrefix(got.stdout, `{"outcome":"invalid","code":"invalid_field","`), got.stdout)
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, command := range []string{"", "push", "bulk", "cancel", "move", "list", "usage", "next-free"} {
		help := f.prints(t, append(strings.Fields(command), "--help")...)
		require.Contains(t, help, "Examples:\n  sendlimit "+command)
		require.Contains(t, help, "--json")
		require.Contains(t, help, "--redis-url url")
		if command != "" {
			require.Equal(t, strings.Contains(help, "--user name"), command != "bulk", command)
		}
		for line := range strings.Lines(help) {
			require.NotContains(t, line, "string  ", "a flag says what it takes: %s", line)
			if !strings.Contains(line, "sendlimit "+command) { // an example is a line to copy
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, line)
			}
		}
	}
}

func TestNothingListening(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	f := emptyStore(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	lines := [][]string{
		{"bulk", fileOf(t, messageLine("alice", "11:11:11"))},
		{"push", "--user", "a", "--at", "now", "--title", "Hi"},
		{"cancel", "--user", "a", "b"},
		{"move", "--user", "a", "b", "--at", "now"},
		{"list", "--user", "a"},
		{"usage", "--user", "a"},
		{"next-free", "--user", "a"},
	}
	for environ, want := range map[string]string{
		"REDIS_URL=redis://" + address: "no Redis at " + address + ": connection refused; start Redis, or leave REDIS_URL out:" +
			" a worker then starts an embedded store for trying",
		"SENDLIMIT_LISTEN=" + address: "no worker at http://" + address + ": dial tcp " + address + ": connect: connection refused; start one with sendlimit-worker run," +
			" or name an API (--api, SENDLIMIT_API) or a store (--redis-url, REDIS_URL)",
	} {
		f.environ = []string{environ}
		for _, args := range lines {
			require.Equal(t, result{5, "", "error: " + want + "\n"}, f.run(t, args...), args)
			require.Equal(t, result{5, `{"outcome":"error","code":"unavailable","detail":"` + want + `"}` + "\n", ""},
				f.run(t, append(args, "--json")...))
		}
	}
	f.environ = []string{"SENDLIMIT_API=http://" + address}
	require.Equal(t, result{5, "", "error: no answer from the API at http://" + address + ": dial tcp " + address + ": connect: connection refused\n"},
		f.run(t, lines[1]...), "nothing may have been accepted")
	f.environ = []string{"SENDLIMIT_LISTEN=off"}
	require.Contains(t, f.run(t, lines[0]...).stderr, "error: listen is off, so the worker has no API: set listen, or name an API")
}

func TestAStoreThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	push := []string{"push", "--user", "a", "--at", "+1m", "--title", "Hi"}
	for name, row := range map[string]struct {
		prepare func(*fixture)
		want    string
	}{
		"no rules": {
			func(f *fixture) { f.server.FlushAll() },
			"the store has no rules yet: start a worker on it, or apply a policy",
		},
		"full": {
			func(f *fixture) { f.server.SetError("OOM command not allowed when used memory > 'maxmemory'.") },
			"Redis is full: raise its maxmemory, or wait until messages are delivered and their records expire",
		},
	} {
		f := newFixture(t)
		row.prepare(f)
		require.Equal(t, result{5, "", "error: " + row.want + "\n"}, f.run(t, push...), name)
	}
	f := emptyStore(t)
	require.Equal(t, 5, f.run(t, push...).status)
	require.NotRegexp(t, `sl:\{p\d`, f.everything(), "nothing of it is stored")
}

// Who asked for a place and got no answer is told how to ask again.
func TestPushWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "list", "--user", "alice") // which marks the layout
	keys := keyspace.KeysUnder("sl")
	require.NoError(t, f.server.Set(keys.Timeline("alice"), "not a timeline"))
	got := f.run(t, "push", "--user", "alice", "--at", "+1m", "--title", "Hi", "--id", "order-17")
	require.NotZero(t, got.status)
	require.Contains(t, got.stderr, "\n  it may have been accepted: submit it again with --id order-17\n")
	got = f.run(t, "push", "--user", "alice", "--at", "+1m", "--title", "Hi", "--id", "order-17", "--json")
	require.Contains(t, got.stdout, `{"outcome":"error","code":"internal","id":"order-17","user":"alice","detail":"`)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url := f.environ[0]
	f.environ = nil
	file := filepath.Join(t.TempDir(), "sendlimit.yaml")
	require.NoError(t, os.WriteFile(file, []byte("redis_url: "+strings.TrimPrefix(url, "REDIS_URL=")+"\nprefix: other\n"), 0o600))
	require.Equal(t, 5, f.run(t, "list", "--user", "alice", "--config", file).status, "no rules under that prefix")
	require.Zero(t, f.run(t, "list", "--user", "alice", "--config", file, "--prefix", "sl").status)
	got := f.run(t, "list", "--user", "alice", "--redis-url", "http://127.0.0.1", "--prefix", "A B")
	require.Equal(t, 2, got.status)
	require.Equal(t, 2, strings.Count(got.stderr, "error: "), "all that is wrong at once: %s", got.stderr)
}

// The other program says where each command is.
func TestTheOtherProgramKnowsTheCommands(t *testing.T) {
	t.Parallel()
	for _, c := range (&program{}).command(t.Context()).Commands() {
		root := &cobra.Command{Use: cli.Worker}
		root.AddCommand(&cobra.Command{Use: "run", RunE: func(*cobra.Command, []string) error { return nil }})
		require.ErrorContains(t, cli.Execute(t.Context(), cli.Names{}, root, []string{c.Name()}), "the command is sendlimit "+c.Name())
	}
}
