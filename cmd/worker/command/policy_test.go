package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
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

	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
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

// A change is told field by field, and what is the same is not.
func TestPolicyApplySaysWhatChanges(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	apply := func(content string) string {
		t.Helper()
		return prints(t, environ, content, "policy", "apply", "-")
	}
	const holds = "It takes effect within 2 seconds in every program; scheduled messages keep their places.\n"
	apply("rules: [1/minute, 10/calendar_day]\ncategories: {otp: {exempt: true}}")
	require.Equal(t, "default: version 1 → 2\n"+
		"  rules                 1/minute, 10/calendar_day → 1/minute, 5/calendar_day\n"+
		"  quiet_hours           none → 22:00-08:00\n"+
		"  categories.marketing  none → 2/calendar_day\n"+
		"  categories.otp        exempt → none\n"+holds,
		apply("rules: [1/minute, 5/calendar_day]\nquiet_hours: [22:00-08:00]\ncategories:\n  marketing: {rules: [2/calendar_day]}"))

	// The same in other words is the same.
	const same = `{"version": 9, "name": "default", "rules": ["1/60s", "5/calendar_day"], "quiet_hours": ["mon-sun 22:00-08:00"],
		"on_conflict": "refuse", "time_zone": "UTC", "alert_at": [80, 100], "reach": null, "user_time_zone": false,
		"categories": {"marketing": {"rules": ["2/calendar_day"], "exempt": false, "counts": true}}}`
	require.Equal(t, "default: unchanged, version 2\n", apply(same))
	out := prints(t, environ, same, "policy", "apply", "-", "--json")
	require.Contains(t, out, `"version":2},"changed":false}`)

	require.Equal(t, "default: version 2 → 3\n"+
		"  time_zone             UTC → Europe/Berlin\n"+
		"  user_time_zone        false → true\n"+
		"  quiet_hours           22:00-08:00 → none\n"+
		"  reach                 none → 30d\n"+
		"  on_conflict           refuse → shift\n"+
		"  alert_at              80, 100 → 100\n"+
		"  categories.marketing  2/calendar_day → exempt and not counted\n"+holds,
		apply("rules: [1/minute, 5/calendar_day]\ntime_zone: Europe/Berlin\nuser_time_zone: true\nreach: 720h\non_conflict: shift\nlate: refuse\n"+
			"alert_at: [100]\ncategories: {marketing: {exempt: true, counts: false}}"))
}

// Package config has the reasons for which a policy is refused. Nothing of it is applied.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	fails(t, cli.StatusInvalid, `error: reach "0s" is not allowed: use 1s to 366d in whole seconds, such as 30d, 36h or 90m (standard input, line 2)`+"\n",
		environ, "rules: [1/day]\nreach: 0s", "policy", "apply", "-")
	// Everything that is wrong is said at once, for programs too.
	out, err := command(t, environ, "rules: [a, b]\nzone: UTC\nquiet_hours: [9-5]", "policy", "apply", "-", "--json")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	require.Equal(t, 4, strings.Count(out, `{"outcome":"invalid","code":"invalid_field","field":"`), out)

	missing := filepath.Join(t.TempDir(), "none.yaml")
	for name, reason := range map[string]string{missing: "no such file or directory", t.TempDir(): "is a directory"} {
		require.Contains(t, fails(t, cli.StatusInvalid, reason, environ, "", "policy", "apply", name), name[:20])
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--name", "gold"}, `--name is "gold", and the file has the name "vip": remove one of them`},
		{[]string{"--then", "drop"}, `then "drop" is not allowed`},
	} {
		fails(t, cli.StatusInvalid, row.want, environ, "name: vip\nrules: [1/day]", append([]string{"policy", "apply", "-"}, row.args...)...)
	}
	said := fails(t, cli.StatusInvalid, `name "VIP" is not allowed: use a name of 1 to 64 of a-z 0-9 _ -`,
		environ, "rules: [1/day]", "policy", "apply", "-", "--name", "VIP")
	require.NotContains(t, said, "standard input", "it is the flag that is wrong, not the file")
	require.Empty(t, m.Keys(), "a policy that is refused touches nothing")
}

// A dry run applies nothing, and --then follows a policy that is applied, or that
// was before.
func TestPolicyPreviewAndThen(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	m, _, environ := elsewhere(t)
	worker := start(t, append(environ, "SENDLIMIT_PUSH_URL=log:")).started(t)
	submitMessage(t, "redis://"+m.Addr(), "alice", 49*time.Hour)
	const quieter = "rules: [1/minute]\nreach: 1h\nquiet_hours: [mon-sat 00:00-24:00, sun 00:00-23:59]"

	previewed := prints(t, environ, quieter, "policy", "apply", "-", "--dry-run")
	require.Contains(t, previewed, "alice")
	kept := prints(t, environ, "", "policy", "show")
	require.Equal(t, shown, kept)

	out := prints(t, environ, quieter, "policy", "apply", "-", "--then", "keep")
	require.True(t, strings.HasPrefix(out, "default: version 1 → 2\n"), out)
	out = prints(t, environ, "", "policy", "apply", policyFile(t, quieter), "--then", "cancel")
	require.True(t, strings.HasPrefix(out, "default: unchanged, version 2\n"), "it goes on where it was left: %s", out)
	require.Contains(t, out, "alice")
	require.NoError(t, worker.end(t))
}
