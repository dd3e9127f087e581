package command

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// fileOf writes a file of the lines, and returns its path.
func fileOf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messages")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func messageLine(user, clock string) string {
	return fmt.Sprintf(`{"user":%q,"send_at":%q,"title":"Hi"}`, user, on22(clock))
}

// bulk runs a file that has to have nothing but outcomes, and returns them and
// the summary.
func (f *fixture) bulk(t *testing.T, path string, args ...string) (outcomes []string, summary string) {
	t.Helper()
	results := filepath.Join(t.TempDir(), "results")
	summary = f.prints(t, append([]string{"bulk", path, "--json", "--results", results}, args...)...)
	info, err := os.Stat(results)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "it has what others wrote")
	text, err := os.ReadFile(results)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), strings.TrimSuffix(summary, "\n")
}

func TestBulk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := fileOf(t,
		messageLine("alice", "11:11:11"),
		messageLine("bob", "11:11:11"),
		messageLine("alice", "11:11:12"),
		`{"id":"mine","user":"alice","send_at":"2093-11-22T11:11:12Z","title":"Hi","on_conflict":"shift"}`,
		messageLine("alice", "11:12:12"),
	)
	dry, _ := f.bulk(t, path, "--dry-run")
	outcomes, summary := f.bulk(t, path)
	require.Equal(t, outcomes, dry, "a dry run says what the run does")
	require.Len(t, outcomes, 5)
	require.Regexp(t, `^{"outcome":"accepted","line":1,"id":"auto-[0-9a-f]{32}","user":"alice","send_at":"2093-11-22T11:11:11.000Z"}$`, outcomes[0])
	require.Regexp(t, `^{"outcome":"accepted","line":2,"id":"auto-[0-9a-f]{32}","user":"bob","send_at":"2093-11-22T11:11:11.000Z"}$`, outcomes[1])
	require.Regexp(t, `^{"outcome":"refused","line":3,"code":"send_limit","id":"auto-[0-9a-f]{32}","user":"alice",`+
		`"send_at":"2093-11-22T11:11:12.000Z","detail":".*","violations":\[.*\],"next_free_at":".*","previous_free_at":".*"}$`, outcomes[2])
	require.JSONEq(t, `{"outcome":"accepted","line":4,"id":"mine","user":"alice","send_at":"2093-11-22T11:12:11.000Z",`+
		`"requested_at":"2093-11-22T11:11:12.000Z","shifted":true}`, outcomes[3])
	require.Contains(t, outcomes[4], `"line":5,"code":"send_limit"`, "earlier lines count")
	require.Equal(t, `{"lines":5,"accepted":3,"replayed":0,"shifted":1,"refused":2,"invalid":0,"errors":0,"recorded":0,`+
		`"refused_by_rule":{"1/minute":2},"seconds":0}`, summary)
	require.Equal(t, `5 lines in 0.0 seconds

  accepted    0
  replayed    3  accepted before: nothing changed
  refused     2
    1/minute  2
  invalid     0
`, f.prints(t, "bulk", path))
	_, summary = f.bulk(t, path, "--from-line", "4")
	require.Contains(t, summary, `{"lines":2,"accepted":0,"replayed":1,`)
}

func TestBulkCSVWithFillIns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := fileOf(t, "user,send_at", "alice,2093-11-22 12:11", "bob,now")
	outcomes, _ := f.bulk(t, path, "--tz", "Europe/Berlin", "--title", "Sale", "--body", "Two for one", "--category", "news", "--campaign", "spring")
	require.Contains(t, outcomes[0], `"send_at":"2093-11-22T11:11:00.000Z"`)
	require.Contains(t, outcomes[1], `"send_at":"2093-11-21T10:00:00.000Z"`)
	require.Contains(t, outcomes[1], `"line":3`)
	require.Contains(t, f.everything(), `{\"title\":\"Sale\",\"body\":\"Two for one\"}`)
	require.Contains(t, f.everything(), `k: "news"`)
	require.Contains(t, f.everything(), `C: "spring"`)
}

func TestBulkReadsStandardInputAndGzip(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := io.WriteString(w, messageLine("alice", "11:11:11"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	f.stdin = &zipped
	got := f.run(t, "bulk", "-", "--results", "-")
	require.Zero(t, got.status)
	require.Regexp(t, `^{"outcome":"accepted","line":1,.*}\n$`, got.stdout)
	require.Contains(t, got.stderr, "1 line in 0.0 seconds\n\n  accepted  1\n", "standard output has the outcomes alone")
}

func TestBulkReportsBadLinesAndSkipsThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := fileOf(
		t, messageLine("alice", "11:11:11"),
		`{"user":"alice","send_at":"tomorrow","title":"Hi"}`,
		`{"user":"alice",`,
		`{"user":"alice","send_at":"2093-11-20T00:00:00Z","title":"Hi"}`,
		`{"id":"i","user":"alice","send_at":"now","title":"`+strings.Repeat("x", 5000)+`"}`,
		`{"user":"`+strings.Repeat("x", 100_000)+`"}`,
		messageLine("alice", "11:11:12"),
		`{"user":"alice","send_at":"2093-11-22T1`,
	)
	dry := f.run(t, "bulk", path, "--dry-run")
	got := f.run(t, "bulk", path, "--results", path+".out")
	require.Equal(t, 2, got.status)
	require.Equal(t, got.stderr, dry.stderr, "a dry run reports them alike")
	for i, want := range []string{
		`line 2: send_at "tomorrow" `, "line 3: invalid JSON at byte 17: ", "line 4: 2093-11-20 00:00:00 is in the past",
		"line 5: title, body and data are 5000 bytes together", "line 6: the line is too long: ", "line 8: invalid JSON at byte 40: ",
	} {
		require.True(t, strings.HasPrefix(strings.Split(got.stderr, "\n")[i], want), got.stderr)
	}
	require.Contains(t, got.stdout, "8 lines in 0.0 seconds\n\n  accepted    1\n")
	require.Contains(t, got.stdout, "\n  invalid     6  skipped, 1 of them since their send time has passed\n")
	outcomes, err := os.ReadFile(path + ".out")
	require.NoError(t, err)
	lines := strings.Split(string(outcomes), "\n")
	require.Regexp(t, `^{"outcome":"invalid","line":2,"code":"invalid_field","field":"send_at","user":"alice","detail":".*"}$`, lines[1])
	require.Contains(t, lines[3], `"outcome":"invalid","line":4,"code":"in_past","field":"send_at"`)
	require.Contains(t, lines[4], `"outcome":"invalid","line":5,"code":"invalid_field","field":"body","id":"i","user":"alice"`)
	require.Contains(t, lines[6], `"outcome":"refused","line":7`)
	require.Len(t, lines, 9)
}

func TestBulkReportsNoMoreThanSomeBadLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.run(t, "bulk", fileOf(t, strings.Split(strings.Repeat("{]\n", 100), "\n")...), "--json")
	require.Equal(t, 2, got.status)
	require.Equal(t, 21, strings.Count(got.stderr, "\n"))
	require.Contains(t, got.stderr, "\nmore lines were not judged: see the summary and the file of --results\n")
	require.Contains(t, got.stdout, `"invalid":100,`)
}

// Nothing is done, not even a connection made.
func TestBulkRefusesBadInputAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := f.everything()
	good := fileOf(t, messageLine("alice", "11:11:11"))
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{fileOf(t, "user,title", "alice,Hi")}, "the header has no column send_at: it is user,title"},
		{[]string{fileOf(t, "user,send_at", "alice,now")}, "neither --title nor --body"},
		{[]string{fileOf(t, "[", "]")}, "a JSON object a line"},
		{[]string{good + ".absent"}, ".absent: no such file or directory"},
		{[]string{t.TempDir()}, ": it is a folder"},
		{[]string{good, "--format", "xml"}, `format "xml" is not allowed: use auto, ndjson or csv`},
		{[]string{good, "--format", "csv"}, "quote the whole field"},
		{[]string{good, "--tz", "CEST"}, `tz "CEST" is not allowed`},
		{[]string{good, "--from-line", "0"}, "--from-line 0: the first line is 1"},
		{[]string{good, "--what-if", "2/day"}, "--what-if requires --dry-run: "},
		{[]string{good, "--what-if-policy", good}, "--what-if-policy requires --dry-run: "},
		{[]string{good, "--what-if-policy", ""}, "--what-if-policy requires --dry-run: "},
		{[]string{good, "--dry-run", "--what-if-policy", ""}, "--what-if-policy requires the name of a file"},
		{[]string{good, "--what-if", ""}, "--what-if requires --dry-run: "},
		{[]string{good, "--dry-run", "--what-if", "2/fortnight"}, `what-if "2/fortnight" is not allowed: use `},
		{[]string{good, "--dry-run", "--what-if", "1/day", "--what-if", "2/day"}, "give one rule for each window"},
		{[]string{good, "--dry-run", "--what-if-policy", good + ".absent"}, `no such file or directory`},
		{[]string{"-", "--dry-run", "--what-if-policy", "-"}, "--what-if-policy can't be standard input, which has the messages"},
		{[]string{good, "--dry-run", "--record-sent"}, "--dry-run and --record-sent exclude each other"},
		{[]string{good, "--results", good}, ": it is the input file: choose another one"},
		{[]string{good, "--results", t.TempDir() + "/absent/results"}, "/absent/results: no such file or directory"},
	} {
		got := f.run(t, append([]string{"bulk"}, row.args...)...)
		require.Equal(t, 2, got.status, row.args)
		require.Empty(t, got.stdout)
		require.Contains(t, got.stderr, row.want)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
	}
	text, err := os.ReadFile(good)
	require.NoError(t, err)
	require.Equal(t, messageLine("alice", "11:11:11")+"\n", string(text), "the messages are still there")
	keys := keyspace.KeysUnder("sl")
	f.server.Del(keys.Meta()) // says only that a program of this version was here
	require.Equal(t, before, f.everything())
}

// One user whose settings can't be read keeps nobody else's messages back.
func TestBulkPastAUserWithoutRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keys := keyspace.KeysUnder("sl")
	f.server.HSet(keys.Settings("bob"), "v", "1", "limits", "2/blue_moon")
	path := fileOf(t, messageLine("alice", "11:11:11"), messageLine("bob", "11:11:11"), messageLine("carl", "11:11:11"))
	for _, args := range [][]string{{"--dry-run"}, {}} {
		got := f.run(t, append([]string{"bulk", path}, args...)...)
		require.Equal(t, cli.StatusUnavailable, got.status, args)
		require.Contains(t, got.stderr, "line 2: the settings of the user in the store can't be read", args)
		require.Regexp(t, `accepted +2`, got.stdout, args)
		require.Regexp(t, `errors +1 .*the rules of their users are unknown`, got.stdout, args)
	}
	require.Contains(t, f.prints(t, "list", "--user", "carl"), "11:11:11")
}

// Free times cost the store much. Without results nobody reads them.
func TestOnlyResultsNeedFreeTimes(t *testing.T) {
	t.Parallel()
	for results, without := range map[string]bool{"": true, "-": false, "outcomes.ndjson": false} {
		asked := bulkFlags{fileFlags: fileFlags{results: results}}.leanJudge(func(_ context.Context, m message.Message) (message.Outcome, error) {
			require.Equal(t, message.Message{ID: "a", WithoutFreeTimes: without}, m, results)
			return message.Outcome{ID: m.ID}, nil
		})
		o, err := asked(t.Context(), message.Message{ID: "a"})
		require.NoError(t, err)
		require.Equal(t, "a", o.ID)
	}
}

// trafficLines is the traffic as a file has it, without ids, in a year that
// begins at now.
func trafficLines(t *testing.T, lines int) []string {
	t.Helper()
	trace, err := traffic.Load(lines)
	require.NoError(t, err)
	all := make([]string, len(trace.Sends))
	for i, send := range trace.Sends {
		all[i] = fmt.Sprintf(`{"user":%q,"send_at":%q,"title":"Hi"}`, send.User, now().Add(send.Offset).Format(time.RFC3339))
	}
	return all
}

// onLine reads a text and calls do before it gives the line.
func onLine(lines []string, line int, do func()) io.Reader {
	whole := strings.Join(lines[:line-1], "\n") + "\n"
	return io.MultiReader(strings.NewReader(whole), readerFunc(func([]byte) (int, error) {
		do()
		return 0, io.EOF
	}), strings.NewReader(strings.Join(lines[line-1:], "\n")+"\n"))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestAnInterruptSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	lines := trafficLines(t, 1000)
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdin: onLine(lines, 700, cancel), Stdout: &stdout, Stderr: &stderr}, now: now}
	err := p.run(ctx, []string{"bulk", "-"})
	require.ErrorIs(t, err, context.Canceled, "the signal decides about the exit status")
	require.Equal(t, cli.StatusUnexpected, cli.ExitCode(err))
	require.Contains(t, stdout.String(), " in 0.0 seconds\n")
	require.Regexp(t, `^\nerror: stopped at line (\d+): interrupted; continue with --from-line \d+, or run it again: .*\n$`, stderr.String())
}

// Who calls it by mistake on a terminal gets out again.
func TestAnInterruptBeforeTheFirstLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	reading, nobody := io.Pipe()
	defer nobody.Close()
	stdin := io.MultiReader(readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, io.EOF
	}), reading)
	var stdout, stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdin: stdin, Stdout: &stdout, Stderr: &stderr}, now: now}
	require.ErrorIs(t, p.run(ctx, []string{"bulk", "-"}), context.Canceled)
	require.Empty(t, stdout.String()+stderr.String())
}

// A file that grows too much stops where it does, unless it is forced.
func TestAGzipFileThatGrowsTooMuchNeedsForce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := io.WriteString(w, messageLine("alice", "11:11:11")+strings.Repeat("\n", 5<<18))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	f.stdin = bytes.NewReader(bomb.Bytes())
	got := f.run(t, "bulk", "-", "--json")
	require.Equal(t, 2, got.status)
	require.Regexp(t, `\n{.*"detail":".*give --force if you trust it.*}\n$`, got.stdout)

	f.stdin = bytes.NewReader(bomb.Bytes())
	require.Zero(t, f.run(t, "bulk", "-", "--json", "--force").status)
}
