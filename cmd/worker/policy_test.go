package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

const shown = "time_zone: UTC\nrules:\n  - 1/minute\n  - 5/hour\n  - 10/calendar_day\nalert_at: [80, 100]\n"

func policyFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

func TestPolicyShowAndApply(t *testing.T) {
	t.Parallel()
	m, client := sendlimittest.EmbeddedRedis(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}

	_, err := command(t, environ, "", "policy", "show")
	status, said := failure(err)
	require.Equal(t, cli.StatusUnavailable, status)
	require.Contains(t, said, "the store has no rules yet: start a worker on it")
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	out, err := command(t, environ, "", "policy", "apply", policyFile(t, "rules: [1/minute, 5/hour, 10/calendar_day]"))
	require.NoError(t, err)
	require.Equal(t, "none → 1/minute, 5/hour, 10/calendar_day\n"+
		"It holds from the next decision on; what is scheduled keeps its place.\n", out)

	out, err = command(t, environ, "", "policy", "show")
	require.NoError(t, err)
	require.Equal(t, shown, out)

	out, err = command(t, environ, `{"rules": ["7/90s"], "time_zone": "Europe/Berlin"}`, "policy", "apply", "-", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{
		"old": {"time_zone": "UTC", "rules": ["1/minute", "5/hour", "10/calendar_day"], "alert_at": [80, 100]},
		"new": {"time_zone": "Europe/Berlin", "rules": ["7/90s"], "alert_at": [80, 100]}
	}`, out)
	require.Equal(t, 1, strings.Count(out, "\n"))

	// What show prints, apply reads, in both spellings.
	for _, spelling := range [][]string{nil, {"--json"}} {
		again, err := command(t, environ, "", append([]string{"policy", "show"}, spelling...)...)
		require.NoError(t, err)
		out, err = command(t, environ, again, "policy", "apply", "-")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(out, "7/90s (Europe/Berlin) → 7/90s (Europe/Berlin)\n"), out)
	}

	policies, err := sendlimit.NewPolicyStore(client, "")
	require.NoError(t, err)
	policy, _, err := policies.Load(t.Context(), sendlimit.DefaultPolicyName)
	require.NoError(t, err)
	require.Equal(t, "7/90s (Europe/Berlin)", policy.String())

	_, err = command(t, environ, "", "policy", "show", "--prefix", "other")
	require.Error(t, err, "another environment has rules of its own")
}

func TestPolicyAlerts(t *testing.T) {
	t.Parallel()
	m, client := sendlimittest.EmbeddedRedis(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}
	apply := func(content string) string {
		t.Helper()
		out, err := command(t, environ, content, "policy", "apply", "-")
		require.NoError(t, err)
		return out
	}
	require.Contains(t, apply("rules: [3/day]\nalert_at: [50, 100]\nalert_to: https://example.com/secret"),
		"none → 3/day, alerts at 50, 100 %, alerts to https://example.com/…\n")
	out, err := command(t, environ, "", "policy", "show")
	require.NoError(t, err)
	require.Equal(t, "time_zone: UTC\nrules:\n  - 3/day\nalert_at: [50, 100]\nalert_to: https://example.com/secret\n", out)
	apply(out)

	policies, err := sendlimit.NewPolicyStore(client, "")
	require.NoError(t, err)
	policy, _, err := policies.Load(t.Context(), sendlimit.DefaultPolicyName)
	require.NoError(t, err)
	require.Equal(t, []int{50, 100}, policy.AlertAt)
	require.Equal(t, "https://example.com/secret", policy.AlertTo)

	require.Contains(t, apply("rules: [3/day]\nalert_at: []\nalert_to: ops@example.com"), "→ 3/day, no alerts, alerts to ops@example.com\n")
	out, err = command(t, environ, "", "policy", "show", "--json")
	require.NoError(t, err)
	require.JSONEq(t, `{"time_zone": "UTC", "rules": ["3/day"], "alert_at": [], "alert_to": "ops@example.com"}`, out)
	require.Contains(t, apply("rules: [3/day]"), "→ 3/day\n")
}

func TestPolicyOfARunningWorker(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--policy-rules", "3/hour").started(t)
	address := strings.TrimPrefix(worker.storeURL(t), "redis://")
	out, err := command(t, nil, "", "policy", "show", "--embedded-address", address)
	require.NoError(t, err)
	require.Equal(t, "time_zone: UTC\nrules:\n  - 3/hour\nalert_at: [80, 100]\n", out)
}

func TestPolicyFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	m, _ := sendlimittest.EmbeddedRedis(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}
	const rule = "a rule such as 5/hour, 3/90s or 10/calendar_day" +
		" (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)"
	for _, row := range []struct{ content, want string }{
		{"", `rules "[]" is not allowed: it takes at least one rule such as 5/hour`},
		{"time_zone: UTC\nrules:\n", `rules "[]" is not allowed: it takes at least one rule such as 5/hour`},
		{"rules: []", `rules "[]" is not allowed: it takes at least one rule such as 5/hour`},
		{"rules: [5 an hour]", `rules "5 an hour" is not allowed: it takes ` + rule},
		{"rules: [0/hour]", `rules "0/hour" is not allowed: it takes a limit of 1 to 1000`},
		{"rules: [1/minute, 1/60s]", `rules "1/minute" is not allowed: it takes each rule once`},
		{"rules: 1/minute", `rules "1/minute" is not allowed: it takes a list of rules such as [1/minute, 5/hour]`},
		{"rules: [{a: b}]", `rules "map[a:b]" is not allowed: it takes ` + rule},
		{"rules: [1/minute]\ntime_zone: Mars/Olympus", `time_zone "Mars/Olympus" is not allowed: it takes an IANA time zone such as Europe/Berlin`},
		{"rules: [1/minute]\ntime_zone: 5", `time_zone "5" is not allowed: it takes an IANA time zone such as Europe/Berlin`},
		{"rules: [1/minute]\nprefix: sl", `setting "prefix" is not allowed: it takes one of time_zone, rules, alert_at, alert_to`},
		{"rules: [1/day]\nalert_at: 80", `alert_at "80" is not allowed: it takes a list of percents such as [80, 100]; [] for no alerts`},
		{"rules: [1/day]\nalert_at: [most]", `alert_at "most" is not allowed: it takes a list of percents such as [80, 100]; [] for no alerts`},
		{"rules: [1/day]\nalert_at: [100, 80]", `alert_at "100 80" is not allowed: it takes percents of 1 to 100, ascending, such as 80 and 100`},
		{"rules: [1/day]\nalert_to: 5", `alert_to "5" is not allowed: it takes an e-mail address or an https: URL`},
		{"rules: [1/day]\nalert_to: ada", `alert_to "ada" is not allowed: it takes one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts`},
		{"- 1/minute", `file "-" is not allowed: it takes YAML or JSON with time_zone and rules`},
		{"1/minute", `file "-" is not allowed: it takes YAML or JSON with time_zone and rules`},
		{"rules: [1/minute]\nrules: [2/minute]", `file "-" is not allowed: it takes YAML or JSON: line 2, column 1: mapping key "rules" already defined at [1:1]`},
		{`{"rules": ["1/minute"`, `file "-" is not allowed: it takes YAML or JSON: line 1, column 11: sequence end token ']' not found`},
		{"rules: [1/minute]\n---\nrules: [2/minute]", `file "-" is not allowed: it takes YAML or JSON with one document`},
		{strings.Repeat("#", 1<<20+1), `file "-" is not allowed: it takes a file of at most 1048576 bytes`},
	} {
		_, err := command(t, environ, row.content, "policy", "apply", "-")
		status, said := failure(err)
		require.Equal(t, cli.StatusInvalid, status)
		require.Equal(t, "error: "+row.want+"\n", said)
	}

	// Everything that is wrong is said at once, for programs too.
	out, err := command(t, environ, "rules: [a, b]\nzone: UTC", "policy", "apply", "-", "--json")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	require.Equal(t, 3, strings.Count(out, `{"outcome":"invalid","code":"invalid_field","field":"`), out)

	missing := filepath.Join(t.TempDir(), "none.yaml")
	for name, reason := range map[string]string{missing: "no such file or directory", t.TempDir(): "is a directory"} {
		_, err = command(t, environ, "", "policy", "apply", name)
		_, said := failure(err)
		require.Contains(t, said, `file "`+name[:20])
		require.Contains(t, said, "it takes the name of a file that can be read, or - for standard input: "+reason)
	}
	require.Empty(t, m.Keys(), "a file that is refused touches nothing")
}

func TestPolicyNeedsAStore(t *testing.T) {
	t.Parallel()
	out, err := command(t, []string{"REDIS_URL=redis://127.0.0.1:1"}, "", "policy", "show", "--json")
	require.Equal(t, cli.StatusUnavailable, cli.ExitCode(err))
	require.Contains(t, out, `{"outcome":"error","code":"unavailable","detail":"no Redis at 127.0.0.1:1: connection refused`)

	_, err = command(t, []string{"REDIS_URL=http://h"}, "", "policy", "show")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
}

func TestCommandLinesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"policy":                 `a command is missing after "worker policy": one of apply, show`,
		"policy apply":           "FILE is missing",
		"policy show it":         `"it" is too much: show takes flags only`,
		"serve":                  `unknown command "serve" for "worker"`,
		"--push":                 "unknown flag: --push",
		"policy show --push-url": "unknown flag: --push-url",
	} {
		_, err := command(t, nil, "", strings.Fields(line)...)
		status, said := failure(err)
		require.Equal(t, cli.StatusInvalid, status, line)
		require.Contains(t, said, want)
		require.Contains(t, said, "; see worker")
	}
}

func TestPolicyOfANewerLayout(t *testing.T) {
	t.Parallel()
	m, client := sendlimittest.EmbeddedRedis(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr()}
	_, err := command(t, environ, "rules: [1/minute]", "policy", "apply", "-")
	require.NoError(t, err)
	require.NoError(t, client.HSet(t.Context(), "sl:meta", "layout", sendlimit.LayoutVersion+1).Err())
	for _, line := range []string{"policy show", "policy apply -"} {
		_, err := command(t, environ, "rules: [2/minute]", strings.Fields(line)...)
		status, said := failure(err)
		require.Equal(t, cli.StatusUnavailable, status)
		require.Contains(t, said, "use the newer program")
	}
	kept, err := client.Get(t.Context(), "sl:policy:default").Result()
	require.NoError(t, err)
	require.Contains(t, kept, "1/minute")
}
