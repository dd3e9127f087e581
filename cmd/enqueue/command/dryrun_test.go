package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// fullPolicy has everything that may refuse or shift a message.
func fullPolicy(t *testing.T) policy.Policy {
	t.Helper()
	p := policy.Default()
	p.TimeZone = "Europe/Berlin"
	var err error
	p.QuietHours, err = policy.ParseQuietHours("22:00-08:00", "sun 00:00-24:00")
	require.NoError(t, err)
	marketing, err := policy.ParseRule("2/calendar_day")
	require.NoError(t, err)
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{marketing}},
		"otp":       {Exempt: true},
		"codes":     {Exempt: true, Uncounted: true},
	}
	return p
}

func (f *fixture) requireNoFiles(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(f.temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestADryRunForAPerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := fileOf(t, messageLine("alice", "11:11:11"), messageLine("bob", "11:12:11"), messageLine("alice", "11:11:12"),
		`{"user":"alice","send_at":"2093-11-22T11:11:12Z","title":"Hi","on_conflict":"shift"}`)
	require.Equal(t, `4 lines in 0.0 seconds (dry run: nothing was changed)

  accepted    3  1 of them shifted to a free time
  replayed    0
  refused     1
    1/minute  1
  invalid     0

  shifted: half of them by up to 59 seconds, nine in ten by up to 59 seconds, the furthest by 59 seconds

  by send time in Europe/Berlin, 1 minute a row

  2093-11-22
  12:11  ############################                               1  1 refused
  12:12  #############################++++++++++++++++++++++++++++  2

  # at the time asked for   + shifted   refused: by the time asked for
`, f.prints(t, "bulk", path, "--dry-run", "--tz", "Europe/Berlin"))
	f.requireNoFiles(t)
}

func TestWhatIf(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var lines []string
	for hour := 11; hour < 20; hour++ {
		lines = append(lines, messageLine("alice", fmt.Sprintf("%d:00:00", hour)), messageLine("alice", fmt.Sprintf("%d:00:30", hour)))
	}
	path := fileOf(t, lines...)
	p := fileOf(t, "rules: [1/minute]", `quiet_hours: ["12:00-24:00"]`)
	vip := policy.Default()
	vip.Name = "vip"
	f.apply(t, vip)
	before := f.everything()
	for _, row := range []struct {
		args    []string
		refused string
		says    string
	}{
		{nil, `"refused_by_rule":{"1/minute":9}`, ""},
		{[]string{"--what-if", "2/calendar_day"}, `"refused_by_rule":{"1/minute":2,"2/calendar_day":14}`, "1/minute, 5/hour, 2/calendar_day"},
		{[]string{"--what-if", "2/minute", "--what-if", "1/2h"}, `"refused_by_rule":{"1/2h":13}`, "2/minute, 5/hour, 10/calendar_day, 1/2h"},
		{[]string{"--what-if-policy", p}, `"refused_by_rule":{"1/minute":1},"refused_by_code":{"quiet_hours":16}`, "1/minute"},
		{[]string{"--what-if-policy", p, "--what-if", "2/minute"}, `"refused_by_rule":{},"refused_by_code":{"quiet_hours":16}`, "2/minute"},
		{
			[]string{"--what-if-policy", fileOf(t, "name: vip", "rules: [1/minute, 3/hour]"), "--what-if", "2/minute"},
			`"refused_by_rule":{"1/minute":9}`, "vip: 2/minute, 3/hour",
		},
	} {
		args := append([]string{"bulk", path, "--dry-run"}, row.args...)
		summary := f.prints(t, append(args, "--json")...)
		require.Contains(t, summary, row.refused, row.args)
		if row.says == "" {
			require.NotContains(t, summary, "judged_by")
			require.NotContains(t, summary, "baseline")
		} else {
			require.Contains(t, summary, `"baseline":{"accepted":9,"replayed":0,"shifted":0,"refused":9,"refused_by_rule":{"1/minute":9}}`)
			require.Contains(t, summary, `"judged_by":"`+row.says)
			require.Contains(t, f.prints(t, args...), "  judged by: "+row.says, row.args)
		}
		f.server.Del("sl:meta") // says only that a program of this version was here
		require.Equal(t, before, f.everything(), row.args)
	}
	wrong := f.run(t, "bulk", path, "--dry-run", "--what-if-policy", fileOf(t, "name: vipp", "rules: [1/minute]"))
	require.Equal(t, 2, wrong.status)
	require.Equal(t, "error: there is no policy \"vipp\": there are default, vip\n", wrong.stderr)
}

// The figures under the store's rules stand beside those under others.
func TestWhatIfBesideTheRulesOfNow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var lines []string
	for minute := range 8 {
		lines = append(lines, messageLine("alice", fmt.Sprintf("11:%02d:00", minute)))
	}
	lines = append(lines, "no message")
	f.run(t, "push", "--user", "alice", "--at", on22("11:03:30"), "--title", "Hi") // is in the way of both
	got := f.run(t, "bulk", fileOf(t, lines...), "--dry-run", "--what-if", "2/hour")
	require.Contains(t, got.stdout, ""+
		"              what if  now\n"+
		"  accepted          1    4\n"+
		"    shifted         0    0\n"+
		"  replayed          0    0\n"+
		"  refused           7    4\n"+
		"    2/hour          5    0\n"+
		"    1/minute        2    2\n"+
		"    5/hour          0    2\n"+
		"  invalid           1  skipped\n", got.stdout)
}

// What is set for a user holds over the rules that are tried out.
func TestWhatIfKeepsWhatUsersHave(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rule, err := policy.ParseRule("3/calendar_day")
	require.NoError(t, err)
	settings := settings.NewUsers(f.client, keyspace.KeysUnder(""))
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Limits: []policy.Rule{rule}}))
	var lines []string
	for _, user := range []string{"alice", "bob"} {
		for hour := 11; hour < 16; hour++ {
			lines = append(lines, messageLine(user, fmt.Sprintf("%d:00:00", hour)))
		}
	}
	outcomes, _ := f.bulk(t, fileOf(t, lines...), "--dry-run", "--what-if", "1/calendar_day")
	for i, text := range outcomes {
		accepted := i < 3 || i == 5
		require.Equal(t, accepted, strings.HasPrefix(text, `{"outcome":"accepted"`), "line %d: %s", i+1, text)
	}
}

// Whatever ends a dry run: the store is as it was, and no file is left.
func TestADryRunThatIsStoppedLeavesNothing(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	lines := trafficLines(t, 1000)
	f := newFixture(t)
	f.prints(t, "bulk", fileOf(t, messageLine("alice", "11:11:11")), "--dry-run") // which marks the layout
	before := f.everything()

	for _, line := range []int{2, 700, 1000} {
		ctx, cancel := context.WithCancel(t.Context())
		var stdout, stderr bytes.Buffer
		p := &program{Program: cli.Program{Environ: f.environ, Stdin: onLine(lines, line, cancel), Stdout: &stdout, Stderr: &stderr}, now: now, temp: f.temp}
		require.ErrorIs(t, p.run(ctx, []string{"bulk", "-", "--dry-run"}), context.Canceled)
		require.Empty(t, stdout.String())
		require.Regexp(t, `^\nerror: the dry run stopped after reading [\d,]+ lines?: interrupted; nothing was changed: run it again\n$`, stderr.String())
		require.Equal(t, before, f.everything())
		f.requireNoFiles(t)
	}

	results := fileOf(t, "of an earlier run")
	f.stdin = onLine(lines, 700, func() { f.server.SetError("READONLY You can't write against a read only replica.") })
	got := f.run(t, "bulk", "-", "--dry-run", "--json", "--results", results)
	require.Equal(t, 5, got.status)
	require.Contains(t, got.stdout, `{"outcome":"error","code":"unavailable","detail":"the dry run stopped after reading 1,000 lines: Redis is a read-only replica: `)
	f.server.SetError("")
	require.Equal(t, before, f.everything())
	f.requireNoFiles(t)
	kept, err := os.ReadFile(results)
	require.NoError(t, err)
	require.Equal(t, "of an earlier run\n", string(kept))

	f.stdin = strings.NewReader(strings.Join(lines, "\n"))
	f.temp += "/absent"
	got = f.run(t, "bulk", "-", "--dry-run")
	require.NotZero(t, got.status)
	require.Contains(t, got.stderr, "error: the dry run stopped after reading 0 lines: creating a temporary file for lines: ")
	require.Contains(t, got.stderr, "; nothing was changed; temporary files are in the folder of TMPDIR\n", "running it again would not help")
}

// A file for outcomes of which there are none is not left behind, but for one that
// was there before.
func TestADryRunWithoutOutcomesLeavesNoResults(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	f := newFixture(t)
	lines := trafficLines(t, 1000)
	path := fileOf(t, lines...)
	made, found := filepath.Join(t.TempDir(), "results"), fileOf(t, "of an earlier run")
	absent := fileOf(t, "name: absent", "rules: [1/day]")
	for _, results := range []string{made, found} {
		got := f.run(t, "bulk", path, "--dry-run", "--what-if-policy", absent, "--results", results)
		require.Equal(t, 2, got.status)
		require.Contains(t, got.stderr, `there is no policy "absent"`)

		f.stdin = onLine(lines, 700, func() { f.server.SetError("READONLY You can't write against a read only replica.") })
		got = f.run(t, "bulk", "-", "--dry-run", "--results", results)
		require.Equal(t, 5, got.status)
		require.Contains(t, got.stderr, "the dry run stopped after reading 1,000 lines: ")
		f.server.SetError("")
	}
	require.NoFileExists(t, made)
	kept, err := os.ReadFile(found)
	require.NoError(t, err)
	require.Equal(t, "of an earlier run\n", string(kept))

	f.prints(t, "bulk", path, "--dry-run", "--results", made) // of a run that does not fail they are
	require.FileExists(t, made)
}

// Outcomes take the place of all those of an earlier run, were they more.
func TestResultsReplaceEarlierOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, args := range [][]string{{"--dry-run"}, {}} {
		results := fileOf(t, strings.Repeat("of an earlier run\n", 100))
		f.prints(t, append([]string{"bulk", fileOf(t, messageLine("alice", "11:11:11")), "--results", results}, args...)...)
		text, err := os.ReadFile(results)
		require.NoError(t, err)
		require.Regexp(t, `^{"outcome":"accepted","line":1,.*}\n$`, string(text))

		f.prints(t, append([]string{"bulk", fileOf(t, "user,send_at,title"), "--allow-empty", "--results", results}, args...)...)
		text, err = os.ReadFile(results)
		require.NoError(t, err)
		require.Empty(t, text, "there are no lines")
	}
}

// One that is interrupted while it judges has made copies by then.
func TestADryRunThatIsStoppedInTheMiddleLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "bulk", fileOf(t, messageLine("alice", "11:11:11")), "--dry-run") // which marks the layout
	before := f.everything()
	ctx, cancel := context.WithCancel(t.Context())
	path := fileOf(t, trafficLines(t, 2000)...)
	var stderr bytes.Buffer
	p := &program{Program: cli.Program{Environ: f.environ, Stdout: io.Discard, Stderr: &stderr}, now: now, temp: f.temp}
	done := make(chan error, 1)
	go func() { done <- p.run(ctx, []string{"bulk", path, "--dry-run"}) }()
	require.Eventually(t, func() bool { // a look at all values would hold up the run
		return slices.ContainsFunc(f.server.Keys(), func(key string) bool { return strings.Contains(key, "-dry-") })
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Contains(t, stderr.String(), " 2,000 lines: interrupted")
	require.Equal(t, before, f.everything())
	f.requireNoFiles(t)
}

func TestADryRunOfABrokenFileSaysHowFarItWent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.stdin = io.MultiReader(strings.NewReader(messageLine("alice", "11:11:11")+"\n"), readerFunc(func([]byte) (int, error) {
		return 0, io.ErrClosedPipe
	}))
	got := f.run(t, "bulk", "-", "--dry-run", "--format", "ndjson")
	require.NotZero(t, got.status)
	require.Contains(t, got.stdout, "accepted  1\n")
	require.Contains(t, got.stderr, "error: stopped at line 2: ")
	require.Contains(t, got.stderr, "; the lines before it were judged, and nothing was changed\n")
}
