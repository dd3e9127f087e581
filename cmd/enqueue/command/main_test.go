package command

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the time on the store's clock and on this one.
func now() time.Time { return time.Date(2093, 11, 21, 10, 0, 0, 0, time.UTC) }

// fixture is a store with the default rules, and a program on it.
type fixture struct {
	server  *miniredis.Miniredis
	client  *redis.Client
	environ []string
	stdin   io.Reader
	temp    string // folder of temporary files
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := emptyStore(t)
	f.apply(t, policy.Default())
	return f
}

// emptyStore is a store that no worker has seen.
func emptyStore(t *testing.T) *fixture {
	t.Helper()
	server, client := redistest.Embedded(t)
	server.SetTime(now())
	return &fixture{
		server: server, client: client, environ: []string{"REDIS_URL=redis://" + server.Addr() + "?read_timeout=1m"}, stdin: strings.NewReader(""),
		temp: t.TempDir(),
	}
}

func (f *fixture) apply(t *testing.T, p policy.Policy) {
	t.Helper()
	policies := settings.NewPolicies(f.client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), p))
}

// result is what a command line ends with.
type result struct {
	status         int
	stdout, stderr string
}

func (f *fixture) run(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdin: f.stdin, Stdout: &stdout, Stderr: &stderr}, now: now, temp: f.temp}
	err := p.run(t.Context(), args)
	return result{status: cli.ExitCode(err), stdout: stdout.String(), stderr: stderr.String()}
}

// prints runs a command line that has to succeed and say nothing on standard
// error, and returns what it prints.
func (f *fixture) prints(t *testing.T, args ...string) string {
	t.Helper()
	got := f.run(t, args...)
	require.Empty(t, got.stderr)
	require.Zero(t, got.status, got.stdout)
	return got.stdout
}

// push accepts a message for alice on the 22nd.
func (f *fixture) push(t *testing.T, id, clock string) {
	t.Helper()
	f.prints(t, "push", "--user", "alice", "--at", on22(clock), "--id", id, "--title", "Hi")
}

func on22(clock string) string { return "2093-11-22T" + clock + "Z" }

// everything is every key in the store with what it holds, as text.
func (f *fixture) everything() string { return f.server.Dump() }
