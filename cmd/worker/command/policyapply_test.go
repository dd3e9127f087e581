package command

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

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
