package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// given is a store with dead letters, whose clock stands still.
type given struct {
	*testing.T

	server  *miniredis.Miniredis
	client  *redis.Client
	environ []string
	now     time.Time
}

func newGiven(t *testing.T) *given {
	t.Helper()
	server, client := redistest.Embedded(t)
	g := &given{
		T: t, server: server, client: client, environ: []string{"REDIS_URL=redis://" + server.Addr() + "?read_timeout=1m"},
		now: time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC),
	}
	server.SetTime(g.now)
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	return g
}

// dead makes a dead letter of a user that ended so long ago.
func (g *given) dead(user, id string, ago time.Duration, fields ...any) {
	g.Helper()
	keys := keyspace.KeysUnder("sl")
	ended := g.now.Add(-ago).UnixMilli()
	require.NoError(g, g.client.HSet(g.Context(), keys.Record(user, id), append([]any{
		"g", "g-" + id, "s", "f", "t", g.now.Add(-ago - time.Minute).UnixMilli(), "e", ended, "n", 8,
		"w", "unavailable", "c", `{"title":"Your \u001b[2J table","data":{"order":"17"}}`,
	}, fields...)...).Err())
	require.NoError(g, g.client.ZAdd(g.Context(), keys.DeadLettersOf(user), redis.Z{
		Score: float64(ended), Member: keyspace.DeadLetterMember(user, id),
	}).Err())
}

// at returns a time of day as Unix ms.
func (g *given) at(clock string) int64 {
	g.Helper()
	at, err := time.Parse(time.DateTime, "2026-11-22 "+clock)
	require.NoError(g, err)
	return at.UnixMilli()
}

// runs runs a command line of dead-letters, and returns what it ends with.
func (g *given) runs(line string) (status int, stdout, stderr string) {
	g.Helper()
	var out, log written
	p := cli.Program{Environ: g.environ, Stdin: strings.NewReader("y\n"), Stdout: &out, Stderr: &log}
	err := Run(g.Context(), p, append([]string{"dead-letters"}, strings.Fields(line)...))
	status = cli.ExitCode(err)
	if _, printed := errors.AsType[cli.StatusError](err); err != nil && !printed {
		_, said := failure(err)
		return status, out.String(), log.String() + said
	}
	return status, out.String(), log.String()
}

// prints runs a command line that has to succeed, and returns what it prints.
func (g *given) prints(line string) string {
	g.Helper()
	status, stdout, stderr := g.runs(line)
	require.Zero(g, status, stdout+stderr)
	require.Empty(g, stderr)
	return stdout
}

func TestDeadLettersAreListed(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	require.Equal(t, "There are no dead letters.\n", g.prints("list"))
	require.Empty(t, g.prints("list --json"))
	g.dead("bob", "b", time.Hour, "s", "u", "w", "timeout", "n", 1)
	g.dead("alice", "a", 2*time.Hour)
	require.Equal(t, ""+
		"ended                         status     tries  reason        send time                     id, user\n"+
		"2026-11-22 09:11:11 UTC       failed         8  unavailable   2026-11-22 09:10:11 UTC       a  alice\n"+
		"2026-11-22 10:11:11 UTC       uncertain      1  timeout       2026-11-22 10:10:11 UTC       b  bob\n", g.prints("list"))
	require.Contains(t, g.prints("list --tz Europe/Berlin --user bob"), "2026-11-22 11:11:11 CET       uncertain")
	require.NotContains(t, g.prints("list --user bob"), "alice")
	require.NotContains(t, g.prints("list --reason timeout"), "alice")
	require.Contains(t, g.prints("list --reason timeout"), "bob")
	require.Equal(t, "There are no dead letters.\n", g.prints("list --campaign spring --reason timeout"))
	require.JSONEq(t, `{"id":"a","user":"alice","status":"failed","send_at":"2026-11-22T09:10:11.000Z",
		"ended_at":"2026-11-22T09:11:11.000Z","attempts":8,"reason":"unavailable"}`, g.prints("list --json --user alice"))
}

func TestManyDeadLettersAreListed(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	g := newGiven(t)
	const many = messages.MaxDeadLetters + 5
	for i := range many {
		g.dead("alice", strconv.Itoa(i), time.Hour)
	}
	require.Equal(t, many, strings.Count(g.prints("list --json"), "\n"))
	require.Equal(t, "1005 dead letters forgotten\n", g.prints("purge --all --yes"))
}

func TestADeadLetterIsShown(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.dead("alice", "a", time.Hour, "k", "news", "x", g.now.Add(time.Hour).UnixMilli(), "r", g.now.Add(-2*time.Hour).UnixMilli(),
		"A", g.at("10:00:00"), "H", 1, "h0", fmt.Sprintf("r %d 60000 . 7 timeout", g.at("10:10:11")))
	const plain = `failed: message a to alice
  ended      2026-11-22 10:11:11 UTC
  reason     unavailable
  tries      8
  send time  2026-11-22 10:10:11 UTC
  requested  2026-11-22 09:11:11 UTC
  expires    2026-11-22 12:11:11 UTC
  category   news
`
	history := `  history
    o 2026-11-22 10:00:00 UTC  accepted for 10:10:11
    o 2026-11-22 10:10:11 UTC  retry (try 7) for 10:11:11: timeout
    X 2026-11-22 10:11:11 UTC  failed (try 8): unavailable
`
	require.Equal(t, plain+history, g.prints("show --user alice a"))
	require.Equal(t, plain+"  title      \"Your \\x1b[2J table\"\n  data       \"order\": \"17\"\n"+history, g.prints("show --user alice a --content"))
	var shown map[string]any
	require.NoError(t, json.Unmarshal([]byte(g.prints("show --user alice a --content --json")), &shown))
	require.Equal(t, "failed", shown["status"])
	require.Equal(t, "Your \x1b[2J table", shown["title"])
	require.NotContains(t, g.prints("show --user alice a --json"), "title")

	status, stdout, _ := g.runs("show --user alice none --json")
	require.Equal(t, cli.StatusNotFound, status)
	require.JSONEq(t, `{"outcome":"refused","code":"not_found","id":"none","user":"alice",
		"detail":"no dead letter \"none\" of user \"alice\": list shows the dead letters"}`, stdout)
}

func TestADeadLetterIsRetried(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.dead("alice", "a", time.Hour)
	g.dead("alice", "b", time.Minute)
	g.dead("alice", "late", time.Minute, "x", g.now.Add(-time.Second).UnixMilli())
	require.Equal(t, "retried: message a to alice will be sent at 2026-11-22 11:11:11 UTC\n", g.prints("retry --user alice a"))
	require.JSONEq(t, `{"outcome":"retried","id":"b","user":"alice","send_at":"2026-11-22T11:12:11.000Z",
		"requested_at":"2026-11-22T11:09:11.000Z"}`, g.prints("retry --user alice b --json"))
	status, _, stderr := g.runs("retry --user alice a")
	require.Equal(t, cli.StatusNotFound, status)
	require.Equal(t, "not found: no dead letter \"a\" of user \"alice\": list shows the dead letters\n", stderr)
	status, stdout, _ := g.runs("retry --user alice late --json")
	require.Equal(t, cli.StatusRefused, status)
	require.Contains(t, stdout, `"code":"expired"`)
	status, _, stderr = g.runs("retry --user alice a/b")
	require.Equal(t, cli.StatusInvalid, status)
	require.Contains(t, stderr, `error: id "a/b" is not allowed`)
}

func TestAllDeadLettersAreRetried(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	require.Equal(t, "retried 0 dead letters\n", g.prints("retry --all"))
	g.dead("alice", "second", time.Hour)
	g.dead("alice", "first", 2*time.Hour)
	g.dead("bob", "late", time.Minute, "x", g.now.Add(-time.Second).UnixMilli())

	status, stdout, stderr := g.runs("retry --all")
	require.Equal(t, []any{cli.StatusInvalid, ""}, []any{status, stdout})
	require.Equal(t, "error: --yes is required without a terminal\n", stderr)

	status, stdout, stderr = g.runs("retry --all --yes")
	require.Zero(t, status)
	require.Equal(t, "retried 2 dead letters; refused: 1 dead letter\n", stdout)
	require.Equal(t, "refused: message late to bob expired at 2026-11-22T11:11:10.000Z: submit it again with a later expires_at\n", stderr)
	require.JSONEq(t, `{"outcome":"refused","code":"expired","id":"late","user":"bob",
		"detail":"message late to bob expired at 2026-11-22T11:11:10.000Z: submit it again with a later expires_at"}`,
		g.prints("retry --all --yes --json"))
	keys := keyspace.KeysUnder("sl")
	places, err := g.client.ZRange(t.Context(), keys.Timeline("alice"), 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, places, "in the order in which they ended")
}

// Those with a reason, of an account or of a campaign are retried together.
func TestSelectedDeadLettersAreRetried(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.dead("alice", "a", time.Hour, "C", "spring")
	g.dead("bob", "b", time.Hour, "w", "gone", "C", "spring")
	g.dead("carol", "c", time.Hour, "C", "autumn")
	require.Equal(t, "retried 1 dead letter\n", g.prints("retry --all --yes --reason unavailable --campaign spring"))
	require.Equal(t, "retried 0 dead letters\n", g.prints("retry --all --yes --campaign winter"))
	require.Equal(t, "retried 1 dead letter\n", g.prints("retry --all --yes --reason unavailable"))
	require.Contains(t, g.prints("list"), "bob")
}

func TestDeadLettersArePurged(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.dead("alice", "a", time.Hour)
	g.dead("bob", "b", 25*time.Hour)
	g.dead("bob", "c", 24*time.Hour)
	require.Equal(t, "purged: message a to alice\n", g.prints("purge --user alice a"))
	status, _, _ := g.runs("purge --user alice a")
	require.Equal(t, cli.StatusNotFound, status)
	require.Equal(t, "1 dead letter forgotten\n", g.prints("purge --older-than 1d"))
	status, _, stderr := g.runs("purge --all")
	require.Equal(t, cli.StatusInvalid, status)
	require.Contains(t, stderr, "--yes is required")
	require.JSONEq(t, `{"purged":1,"more":false}`, g.prints("purge --all --yes --json"))
	require.Equal(t, "0 dead letters forgotten\n", g.prints("purge --all"), "nobody is asked about nothing")
	require.NotContains(t, g.server.Dump(), "table")
}

func TestDeadLetterCommandLinesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	for line, want := range map[string]string{
		"":                                        `missing command after "sendlimit-worker dead-letters": one of list, purge, retry, show`,
		"list a":                                  `unexpected argument "a": list has only flags; see sendlimit-worker dead-letters list --help`,
		"show a":                                  "--user is missing; see sendlimit-worker dead-letters show --help",
		"show --user alice":                       "ID is missing",
		"show --user a b --content=maybe":         `content "maybe" is not allowed: use true or false`,
		"retry":                                   "ID is missing: give --user and an ID, or --all; see sendlimit-worker dead-letters retry --help",
		"retry a":                                 "--user is missing",
		"retry --user alice":                      "ID is missing",
		"retry --all a":                           `unexpected argument "a" beside --all`,
		"retry --all=false":                       "ID is missing: give --user and an ID, or --all",
		"retry --user alice --all":                "--user and --all exclude each other",
		"retry --user alice a b":                  `unexpected argument "b": give one ID`,
		"retry --reason gone --user a b":          "--reason needs --all",
		"retry --all --alerts --campaign a":       "--alerts and --campaign exclude each other",
		"list --alerts --campaign spring":         "--alerts and --campaign exclude each other",
		"list --reason=":                          "--reason is empty: give it a value, or leave it out",
		"retry --all --yes --campaign=":           "--campaign is empty",
		"purge":                                   "ID is missing: give --user and an ID, or --older-than or --all",
		"purge --older-than=":                     `older_than "" is not allowed: use a duration such as 90m, 36h or 7d`,
		"purge --older-than 1d --all":             "--older-than and --all exclude each other; see sendlimit-worker dead-letters purge --help",
		"purge --older-than soon":                 `older_than "soon" is not allowed: use a duration such as 90m, 36h or 7d`,
		"purge --older-than -1h":                  `older_than "-1h" is not allowed`,
		"list --tz Mars/Olympus":                  `tz "Mars/Olympus" is not allowed`,
		"list --redis-url http://x":               `redis_url "http://x" is not allowed`,
		"list --user " + strings.Repeat("x", 300): `user "xxx`,
	} {
		status, stdout, stderr := g.runs(line)
		require.Equal(t, cli.StatusInvalid, status, line)
		require.Empty(t, stdout, line)
		require.Contains(t, stderr, want, line)
	}
}

func TestDeadLetterCommandLinesThatMakeNoSenseInJSON(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	for line, want := range map[string]string{
		"show a --json":                      `{"outcome":"invalid","code":"invalid_field","field":"user","detail":"--user is missing; see sendlimit-worker dead-letters show --help"}`,
		"--json retry":                       `{"outcome":"invalid","code":"invalid_field","field":"id","detail":"ID is missing: give --user and an ID, or --all; see sendlimit-worker dead-letters retry --help"}`,
		"show --user a b --content=x --json": `{"outcome":"invalid","code":"invalid_field","field":"content","detail":"content \"x\" is not allowed: use true or false"}`,
	} {
		status, stdout, stderr := g.runs(line)
		require.Equal(t, []any{cli.StatusInvalid, ""}, []any{status, stderr}, line)
		require.JSONEq(t, want, stdout, line)
	}
	require.Contains(t, g.prints("retry --help"), "dead-letters retry [ID] [flags]")
}

func TestDeadLettersNeedAStore(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.server.FlushAll()
	for _, line := range []string{"list", "list --json", "purge --all", "purge --older-than 1d"} {
		if strings.HasPrefix(line, "purge") {
			require.Empty(t, g.server.Keys(), "looking leaves nothing behind")
		}
		status, _, stderr := g.runs(line)
		require.Zero(t, status, stderr, "%s needs no rules", line)
		g.server.FlushAll()
	}
	status, _, stderr := g.runs("retry --user alice a")
	require.Equal(t, cli.StatusUnavailable, status, "it is judged anew")
	require.Contains(t, stderr, "the store has no rules yet")
	g.server.HSet("sl:meta", "layout", strconv.Itoa(int(store.PresentLayout)+1))
	status, stdout, _ := g.runs("list --json")
	require.Equal(t, cli.StatusUnavailable, status)
	require.Contains(t, stdout, `"code":"unavailable"`)
	require.Contains(t, stdout, "use the newer program")
}
