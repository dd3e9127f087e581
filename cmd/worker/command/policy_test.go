package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const shown = "name: default\ntime_zone: UTC\nrules:\n  - 1/minute\n  - 5/hour\n  - 10/calendar_day\n" +
	"on_conflict: refuse\nlate: refuse\nalert_at: [80, 100]\nversion: 1\n"

func policyFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

func TestPolicyShowAndApply(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)

	fails(t, cli.StatusUnavailable, "the store has no rules yet: start a worker on it", environ, "", "policy", "show")
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	out := prints(t, environ, "", "policy", "apply", policyFile(t, "rules: [1/minute, 5/hour, 10/calendar_day]"))
	require.Equal(t, "default: none → version 1\n"+
		"  time_zone       UTC\n"+
		"  user_time_zone  false\n"+
		"  rules           1/minute, 5/hour, 10/calendar_day\n"+
		"  on_conflict     refuse\n"+
		"  late            refuse\n"+
		"  alert_at        80, 100\n"+
		"It takes effect within 2 seconds in every program; scheduled messages keep their places.\n", out)

	out = prints(t, environ, "", "policy", "show")
	require.Equal(t, shown, out)

	out = prints(t, environ, `{"rules": ["7/90s"], "time_zone": "Europe/Berlin"}`, "policy", "apply", "-", "--json")
	require.JSONEq(t, `{
		"old": {"name": "default", "time_zone": "UTC", "rules": ["1/minute", "5/hour", "10/calendar_day"],
			"on_conflict": "refuse", "late": "refuse", "alert_at": [80, 100], "version": 1},
		"new": {"name": "default", "time_zone": "Europe/Berlin", "rules": ["7/90s"],
			"on_conflict": "refuse", "late": "refuse", "alert_at": [80, 100], "version": 2},
		"changed": true
	}`, out)
	require.Equal(t, 1, strings.Count(out, "\n"))

	// What show prints, apply reads, in both spellings.
	for _, spelling := range [][]string{nil, {"--json"}} {
		text := prints(t, environ, "", append([]string{"policy", "show"}, spelling...)...)
		again, err := command(t, environ, text, "policy", "apply", "-")
		require.NoError(t, err)
		require.Equal(t, "default: unchanged, version 2\n", again)
	}

	policies, err := settings.NewPolicies(client, "")
	require.NoError(t, err)
	policy, _, err := policies.Load(t.Context(), policy.DefaultName)
	require.NoError(t, err)
	require.Equal(t, "7/90s (Europe/Berlin)", policy.String())

	_, err = command(t, environ, "", "policy", "show", "--prefix", "other")
	require.Error(t, err, "another environment has rules of its own")
}

func TestPolicyAlerts(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	apply := func(content string) string {
		t.Helper()
		return prints(t, environ, content, "policy", "apply", "-")
	}
	require.Contains(t, apply("rules: [3/day]\nalert_at: [50, 100]\nalert_to: https://example.com/secret"),
		"  alert_at        50, 100\n  alert_to        https://example.com/…\n")
	require.Contains(t, apply("rules: [3/day]\nalert_at: []\nalert_to: ops@example.com"),
		"  alert_at  50, 100 → none\n  alert_to  https://example.com/… → ops@example.com\n")
	require.Contains(t, apply("rules: [3/day]"), "  alert_to  ops@example.com → none\n")
	apply("rules: [3/day]\nalert_to: https://example.com/secret")
	moved := apply("rules: [3/day]\nalert_to: https://example.com/another")
	require.Contains(t, moved, "  alert_to  https://example.com/… → https://example.com/… (changed)\n")
}

func TestPolicyOfARunningWorker(t *testing.T) {
	t.Parallel()
	worker := start(t, nil, "--policy-rules", "3/hour").started(t)
	out := prints(t, worker.environ(t), "", "policy", "show")
	require.Contains(t, out, "\nrules:\n  - 3/hour\n")
}

const everything = `name: vip
time_zone: Europe/Berlin
user_time_zone: true
rules:
  - 1/minute
  - 20/calendar_day
quiet_hours:
  - 22:00-08:00
  - sat,sun 00:00-24:00
reach: 30d
on_conflict: shift
late: refuse
alert_at: [50]
alert_to: ops@example.com
categories:
  codes:
    exempt: true
    counts: false
  marketing:
    rules:
      - 2/calendar_day
unknown_categories: refuse
`

// What a policy can have comes back as it was given.
func TestPoliciesByName(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	run := func(stdin string, args ...string) string {
		t.Helper()
		return prints(t, environ, stdin, append([]string{"policy"}, args...)...)
	}
	require.Equal(t, "There are no policies yet: start a worker on the store, or run sendlimit-worker policy apply FILE.\n", run("", "list"))
	require.Empty(t, run("", "list", "--json"))
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	run(everything, "apply", "-")
	require.Equal(t, everything+"version: 1\n", run("", "show", "vip"))
	run("rules: [1/hour]", "apply", "-")
	require.Equal(t, "trial: none → version 1\n", strings.SplitAfter(run("rules: [1/hour]", "apply", "-", "--name", "trial"), "\n")[0])
	run("name: trial\nrules: [2/hour]", "apply", "-", "--name", "trial")

	require.Equal(t, ""+
		"NAME     VERSION  RULES                                                                              TIME ZONE                       QUIET HOURS\n"+
		"default  1        1/hour                                                                             UTC                             none\n"+
		"trial    2        2/hour                                                                             UTC                             none\n"+
		"vip      1        1/minute, 20/calendar_day; codes exempt and not counted; marketing 2/calendar_day  the user's, else Europe/Berlin  22:00-08:00 and sat,sun 00:00-24:00\n",
		run("", "list"))
	require.JSONEq(t, `[
		{"name": "default", "time_zone": "UTC", "rules": ["1/hour"], "on_conflict": "refuse", "late": "refuse", "alert_at": [80, 100], "version": 1},
		{"name": "trial", "time_zone": "UTC", "rules": ["2/hour"], "on_conflict": "refuse", "late": "refuse", "alert_at": [80, 100], "version": 2},
		{"name": "vip", "time_zone": "Europe/Berlin", "user_time_zone": true, "rules": ["1/minute", "20/calendar_day"],
			"quiet_hours": ["22:00-08:00", "sat,sun 00:00-24:00"], "reach": "30d", "on_conflict": "shift", "late": "refuse", "unknown_categories": "refuse",
			"alert_at": [50], "alert_to": "ops@example.com", "version": 1,
			"categories": {"codes": {"exempt": true, "counts": false}, "marketing": {"rules": ["2/calendar_day"]}}}
	]`, "["+strings.ReplaceAll(strings.TrimSpace(run("", "list", "--json")), "\n", ",")+"]")

	fails(t, cli.StatusNotFound, "not found: no policy \"gold\"\n", environ, "", "policy", "show", "gold")
}

func TestPolicyOfANewerLayout(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	prints(t, environ, "rules: [1/minute]", "policy", "apply", "-")
	require.NoError(t, client.HSet(t.Context(), "sl:meta", "layout", int(store.PresentLayout)+1).Err())
	for _, line := range []string{"policy list", "policy show", "policy apply -"} {
		fails(t, cli.StatusUnavailable, "use the newer program", environ, "rules: [2/minute]", strings.Fields(line)...)
	}
	kept, err := client.HGet(t.Context(), "sl:{policies}:stored", "default").Result()
	require.NoError(t, err)
	require.Contains(t, kept, "1/minute")
}
