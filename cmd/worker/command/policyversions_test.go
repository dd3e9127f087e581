package command

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
)

// A file with a version replaces that version only.
func TestPolicyApplyOfAVersion(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	apply := func(content string, args ...string) (string, error) {
		t.Helper()
		return command(t, environ, content, append([]string{"policy", "apply", "-"}, args...)...)
	}
	fails(t, cli.StatusRefused, "there is no policy default, so no version 1 of it: leave the version out to create it",
		environ, "rules: [1/hour]\nversion: 1", "policy", "apply", "-")
	_, err := apply("rules: [1/hour]")
	require.NoError(t, err)
	read := prints(t, environ, "", "policy", "show")
	require.Contains(t, read, "\nversion: 1\n")
	_, err = apply(strings.Replace(read, "1/hour", "2/hour", 1))
	require.NoError(t, err)

	for _, change := range []string{read, strings.Replace(read, "1/hour", "3/hour", 1)} {
		out, err := apply(change, "--json")
		require.Equal(t, cli.StatusRefused, cli.ExitCode(err))
		require.Contains(t, out, `"code":"version_mismatch"`)
		require.Contains(t, out, "policy default is at version 2, not at 1: read it again, and repeat the change on that version")
	}
	_, err = apply("rules: [2/hour]\nversion: 1")
	require.NoError(t, err, "the same policy again changes nothing")
	for _, wrong := range []string{"0", "-1", "x", "1.5", "[1]", "99999999999999999999"} {
		fails(t, cli.StatusInvalid, "version", environ, "rules: [4/hour]\nversion: "+wrong, "policy", "apply", "-")
	}
	_, err = apply(strings.Replace(read, "\nversion: 1", "", 1))
	require.NoError(t, err)
}

// Versions are listed with who stored them, and stored again.
func TestPolicyVersionsAndRollback(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	m.SetTime(time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC))
	run := func(stdin string, args ...string) string {
		t.Helper()
		return prints(t, environ, stdin, append([]string{"policy"}, args...)...)
	}
	run("rules: [1/hour]", "apply", "-", "--name", "vip")
	run("rules: [2/hour]", "apply", "-", "--name", "vip", "--by", "ada")
	me, err := user.Current()
	require.NoError(t, err)
	var versions message.PolicyVersions
	require.NoError(t, json.Unmarshal([]byte(run("", "versions", "vip", "--json")), &versions))
	require.Equal(t, me.Username, versions.Versions[1].By)

	require.Contains(t, run("", "rollback", "vip", "--to", "1", "--dry-run"), "Nothing was changed.")
	require.Equal(t, "vip: version 2 → 3\n  rules  2/hour → 1/hour\n"+
		"It takes effect within 2 seconds in every program; scheduled messages keep their places.\n", run("", "rollback", "vip", "--to", "1", "--by", "bob"))
	require.Equal(t, "vip: deleted; sendlimit-worker policy rollback restores it within 30 days\n", run("", "delete", "vip", "--by", "carol"))
	listed := run("", "versions", "vip")
	require.Equal(t, []string{
		"4        2026-11-22 11:11:11 UTC  carol  deleted",
		"3        2026-11-22 11:11:11 UTC  bob    1/hour",
		"2        2026-11-22 11:11:11 UTC  ada    2/hour",
	}, strings.Split(listed, "\n")[1:4])
	require.JSONEq(t, `{"outcome":"deleted","policy":"trial"}`, func() string {
		run("rules: [1/hour]", "apply", "-", "--name", "trial")
		return run("", "delete", "trial", "--json")
	}())
	require.Contains(t, run("", "rollback", "vip", "--to", "2"), "vip: none → version 5\n")

	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"rollback vip":            {cli.StatusInvalid, "--to is missing: sendlimit-worker policy versions lists the versions"},
		"rollback vip --to 9":     {cli.StatusNotFound, `no version 9 of policy "vip"`},
		"rollback vip --to 4":     {cli.StatusInvalid, "version 4 of policy vip is its deletion"},
		"rollback nobody --to 1":  {cli.StatusNotFound, `no policy "nobody"`},
		"versions nobody":         {cli.StatusNotFound, `no policy "nobody"`},
		"delete nobody":           {cli.StatusNotFound, `no policy "nobody"`},
		"delete default":          {cli.StatusInvalid, "the policy default can't be deleted: it applies to every user without another one"},
		"delete NOBODY":           {cli.StatusNotFound, `no policy "NOBODY"`},
		"rollback vip --to third": {cli.StatusInvalid, "third"},
	} {
		fails(t, want.status, want.says, environ, "", append([]string{"policy"}, strings.Fields(line)...)...)
	}
}

// Users with settings are listed, and keep their policy from being deleted.
func TestUserList(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	run := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "rules: [1/hour]", args...)
	}
	require.Equal(t, "There are no users with settings.\n", run("user", "list"))
	require.Empty(t, run("user", "list", "--json"))
	run("policy", "apply", "-")
	run("policy", "apply", "-", "--name", "vip")
	run("user", "set", "alice", "--policy", "vip", "--contact", "https://example.com/secret")
	run("user", "set", "bob", "--block", "--limit", "2/hour", "--time-zone", "Asia/Tokyo")
	all := run("user", "list")
	require.Contains(t, all, "USER   POLICY   LIMITS  TIME ZONE   BLOCKED  CONTACT\n")
	require.Contains(t, all, "alice  vip                                   https://example.com/…\n")
	require.Contains(t, all, "bob    default  2/hour  Asia/Tokyo  blocked  \n")
	require.JSONEq(t, `{"user":"bob","limits":["2/hour"],"time_zone":"Asia/Tokyo","blocked":true}`, run("user", "list", "--blocked", "--json"))
	require.NotContains(t, run("user", "list", "--policy", "vip"), "bob")
	require.Equal(t, "No users match.\n", run("user", "list", "--policy", "vip", "--blocked"))
	for _, wrong := range []string{"", "V I P"} {
		_, err := command(t, environ, "", "user", "list", "--policy", wrong)
		require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	}

	out, err := command(t, environ, "", "policy", "delete", "vip", "--json")
	require.Equal(t, cli.StatusRefused, cli.ExitCode(err))
	require.Contains(t, out, `"code":"policy_in_use"`)
	require.Contains(t, out, "policy vip is in use: 1 user has it, alice; give this user another policy first")
	run("user", "set", "alice", "--policy", "")
	run("policy", "delete", "vip")
	_, err = command(t, environ, "", "user", "set", "alice", "--policy", "vip")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
}

// Policies of the settings are written once, each under its name; then the store's hold, and
// each difference is said with what differs, and with nobody's whole address. Settings without
// policies differ from none.
func TestPoliciesOfTheSettingsFile(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	settings := func(content string) string {
		name := filepath.Join(t.TempDir(), "sendlimit.yaml")
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	start(t, environ, "--config", settings("policy: {categories: {otp: {exempt: true}}}\n"+
		"policies: {vip: {rules: [5/minute], reach: 30d, alert_to: team@example.com}}"), "--policy-time-zone", "Europe/Berlin").started(t).notLogged(t, "differs_in")
	silent := start(t, environ).started(t)
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day (Europe/Berlin), otp exempt", silent.attribute(t, "rules", "rules"))
	silent.notLogged(t, "differs_in")
	list := prints(t, environ, "", "policy", "list")
	require.Equal(t, ""+
		"NAME     VERSION  RULES                                          TIME ZONE      QUIET HOURS\n"+
		"default  1        1/minute, 5/hour, 10/calendar_day; otp exempt  Europe/Berlin  none\n"+
		"vip      1        5/minute                                       UTC            none\n", list)

	again := start(t, environ, "--config", settings(
		"policies:\n  vip: {rules: [6/minute], quiet_hours: [\"22:00-08:00\"], categories: {ads: {rules: [1/hour]}}, alert_to: boss@example.net}\n  new: {rules: [1/hour]}",
	)).started(t)
	line := again.logged(t, "the rules in the settings differ from the store's, which apply")
	require.Equal(t, "vip", line["policy"])
	require.Equal(t, "6/minute, ads 1/hour, quiet 22:00-08:00, alerts to …@example.net", line["settings"])
	require.Equal(t, "5/minute, at most 30d ahead, alerts to …@example.com", line["store"])
	require.Equal(t, "rules, quiet_hours, reach, alert_to, unknown_categories, categories.ads", line["differs_in"])
	require.NotRegexp(t, "team|boss", again.stderr.String())
	shownNew := prints(t, environ, "", "policy", "show", "new")
	require.Contains(t, shownNew, "  - 1/hour\n")
	kept := prints(t, environ, "", "policy", "show", "vip")
	require.Contains(t, kept, "version: 1\n")
}
