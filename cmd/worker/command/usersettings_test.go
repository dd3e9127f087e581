package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// settingsOf runs sendlimit-worker user on a store, which has two policies.
func settingsOf(t *testing.T) (run func(args ...string) string, environ []string) {
	t.Helper()
	server, _ := redistest.Embedded(t)
	environ = []string{"REDIS_URL=redis://" + server.Addr() + "?read_timeout=1m"}
	for _, policy := range []string{
		"rules: [1/minute, 10/calendar_day]\nquiet_hours: [22:00-08:00]",
		"name: vip\nrules: [5/minute, 5/hour]\nuser_time_zone: true\n" +
			"categories: {marketing: {rules: [2/calendar_day]}, otp: {exempt: true}, codes: {exempt: true, counts: false}}",
	} {
		prints(t, environ, policy, "policy", "apply", "-")
	}
	return func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", append([]string{"user"}, args...)...)
	}, environ
}

func TestUserSettings(t *testing.T) {
	t.Parallel()
	run, _ := settingsOf(t)
	const usual = "set for alice: nothing\npolicy default, version 1:\n  1/minute         all messages\n  10/calendar_day  all messages\n" +
		"  calendar periods in UTC\n  quiet 22:00-08:00 in UTC\n"
	require.Equal(t, usual, run("show", "alice"))

	require.Equal(t, "set for alice: 20/calendar_day, time zone Europe/Berlin, quota alerts to ada@example.org\n"+
		"policy default, version 1:\n  1/minute         all messages\n"+
		"  20/calendar_day  all messages, set for alice in place of 10/calendar_day\n"+
		"  calendar periods in UTC\n  quiet 22:00-08:00 in Europe/Berlin\n",
		run("set", "alice", "--limit", "20/calendar_day", "--time-zone", "Europe/Berlin", "--contact", "ada@example.org"))
	require.JSONEq(t, `{
		"user": "alice", "contact": "ada@example.org", "policy": "", "limits": ["20/calendar_day"], "time_zone": "Europe/Berlin", "blocked": false,
		"categories": {}, "opt_out": [], "quiet_hours": [],
		"effective": {"policy": "default", "version": 1, "time_zone": "UTC", "quiet_hours": ["22:00-08:00"], "quiet_time_zone": "Europe/Berlin",
			"rules": [{"rule": "1/minute", "from": "policy"}, {"rule": "20/calendar_day", "from": "user", "replaces": "10/calendar_day"}]}
	}`, run("show", "alice", "--json"))

	// What is not named stays.
	require.Contains(t, run("set", "alice", "--limit", "3/minute", "--block"),
		"alice is blocked: no message is accepted\nset for alice: 20/calendar_day, 3/minute, time zone Europe/Berlin, quota alerts to ada@example.org\n")
	require.Contains(t, run("set", "alice", "--limit", "2/minute"), "set for alice: 20/calendar_day, 2/minute, ")
	require.Equal(t, "set for alice: policy vip, 2/minute, time zone Europe/Berlin\n"+
		"policy vip, version 1:\n"+
		"  2/minute        all messages, set for alice in place of 5/minute\n"+
		"  5/hour          all messages\n"+
		"  2/calendar_day  category marketing\n"+
		"  calendar periods in Europe/Berlin\n"+
		"  category codes is exempt, and does not count\n"+
		"  category otp is exempt, and counts for the others\n",
		run("set", "alice", "--policy", "vip", "--no-limits", "--limit", "2/minute", "--contact", "", "--unblock"))
	require.Contains(t, run("show", "alice", "--json"), `"exempt":[{"category":"codes","counts":false},{"category":"otp","counts":true}],"quiet_hours":[]`)
	require.Contains(t, run("set", "alice", "--policy", "", "--time-zone", ""), "set for alice: 2/minute\npolicy default, ")
	require.Contains(t, run("set", "alice", "--contact", "https://example.org/hook"), "quota alerts to https://example.org/hook\n")
	require.Contains(t, run("export", "alice"), `"contact":"https://example.org/hook"`)

	require.Equal(t, usual, run("clear", "alice"))
	require.Equal(t, usual, run("clear", "alice"), "twice is harmless")
}

// What was set before a policy lost a rule keeps nobody from setting other things, and
// applies beside the policy's rules.
func TestLimitsThatReplaceNothingAnyMore(t *testing.T) {
	t.Parallel()
	run, environ := settingsOf(t)
	run("set", "alice", "--limit", "20/calendar_day")
	prints(t, environ, "rules: [1/minute]", "policy", "apply", "-")
	require.Equal(t, "set for alice: 20/calendar_day, time zone Europe/Berlin\npolicy default, version 2:\n"+
		"  1/minute         all messages\n  20/calendar_day  all messages, set for alice beside the policy's rules\n"+
		"  calendar periods in UTC\n",
		run("set", "alice", "--time-zone", "Europe/Berlin"))
	require.Contains(t, run("show", "alice", "--json"), `{"rule":"20/calendar_day","from":"user"}`)
	require.Contains(t, run("set", "alice", "--limit", "2/minute"), "set for alice: 20/calendar_day, 2/minute, time zone Europe/Berlin\n",
		"a limit that the command does not name keeps no other from being set")
	fails(t, cli.StatusInvalid, `the limit 20/calendar_day replaces no rule`, environ, "", "user", "set", "alice", "--policy", "") // they all go with the policy
}

// A user's categories and quiet hours: what is not named stays.
func TestOwnCategoriesAndQuietHours(t *testing.T) {
	t.Parallel()
	run, _ := settingsOf(t)
	require.Equal(t, "set for alice: marketing 1/calendar_day, no news and no ads, quiet 12:00-13:00 and sat,sun 00:00-24:00\n"+
		"policy default, version 1:\n  1/minute         all messages\n  10/calendar_day  all messages\n"+
		"  1/calendar_day   category marketing, set for alice beside the policy's rules\n"+
		"  calendar periods in UTC\n  quiet 22:00-08:00 and 12:00-13:00 and sat,sun 00:00-24:00 in UTC\n"+
		"  category news is refused: alice has opted out\n  category ads is refused: alice has opted out\n",
		run("set", "alice", "--category-limit", "marketing=1/calendar_day", "--opt-out", "news,ads",
			"--quiet-hours", "12:00-13:00", "--quiet-hours", "sat,sun 00:00-24:00"))
	require.Contains(t, run("set", "alice", "--opt-in", "news", "--category-limit", "marketing=2/hour"),
		"set for alice: marketing 1/calendar_day and 2/hour, no ads, quiet 12:00-13:00 and sat,sun 00:00-24:00\n")
	require.Contains(t, run("set", "alice", "--no-category-limits", "--category-limit", "news=1/day", "--no-quiet-hours"), "set for alice: news 1/day, no ads\n")
	require.Contains(t, run("set", "alice", "--no-category-limits", "--opt-in", "ads"), "set for alice: nothing\n")
}

func TestUserSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	run, environ := settingsOf(t)
	before := run("set", "alice", "--limit", "20/calendar_day", "--contact", "ada@example.org")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"set", "alice"}, "a flag is required, for example --policy, --limit, --time-zone, --quiet-hours, --opt-out, --contact or --block; see sendlimit-worker user set --help"},
		{[]string{"set", "alice", "--block", "--unblock"}, "--block and --unblock exclude each other"},
		{[]string{"set", "alice", "--policy", "gold"}, `there is no policy "gold" that this program can read: there are default, vip`},
		{[]string{"set", "alice", "--limit", "7/hour"}, `the limit 7/hour replaces no rule, as policy default has no rule with this window: it has 1/minute, 10/calendar_day`},
		{[]string{"set", "alice", "--contact", "", "--limit", ""}, `--limit requires a rule such as 20/calendar_day; --no-limits removes all limits`},
		{[]string{"set", "alice", "--category-limit", "1/day"}, `category-limit "1/day" is not allowed: use a category and a rule`},
		{[]string{"set", "alice", "--category-limit", "news=1/fortnight"}, `category-limit "news=1/fortnight" is not allowed`},
		{[]string{"set", "alice", "--quiet-hours", "nights"}, `quiet-hours "nights" is not allowed: use hours such as 22:00-08:00`},
		{[]string{"set", "alice", "--quiet-hours", "08:00-09:00", "--no-quiet-hours"}, `--quiet-hours and --no-quiet-hours exclude each other`},
		{[]string{"set", "alice", "--opt-out", "ads", "--opt-in", "ads"}, `--opt-out and --opt-in both name ads`},
		{[]string{"clear"}, "USER is missing"},
	} {
		fails(t, cli.StatusInvalid, row.want, environ, "", append([]string{"user"}, row.args...)...)
	}
	require.Equal(t, before, run("show", "alice"), "nothing was changed")
}

// Without any policy there is nothing that limits could replace; all else can be
// set before the first worker starts.
func TestUserSettingsBeforeThereArePolicies(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	out := prints(t, environ, "", "user", "set", "alice", "--contact", "ada@example.org")
	require.Equal(t, "set for alice: quota alerts to ada@example.org\nthe store has no rules yet: start a worker on it\n", out)
	out = prints(t, environ, "", "user", "show", "alice", "--json")
	require.JSONEq(t, `{"user":"alice","contact":"ada@example.org","policy":"","limits":[],"categories":{},"opt_out":[],"quiet_hours":[],"time_zone":"","blocked":false,"effective":null}`, out)
	fails(t, cli.StatusUnavailable, "the store has no rules for everybody that this program can read", environ, "", "user", "set", "alice", "--limit", "1/minute")
}

// An alert that is given up says why, so that whoever runs the worker need not
// guess which setting is in the way.
func TestAnAlertThatIsGivenUpSaysWhy(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	prints(t, append(environ, "SENDLIMIT_ALLOW_INTERNAL_WEBHOOKS=true"), "", "user", "set", "alice", "--contact", "https://127.0.0.1:9/alerts/s3cret")
	worker := start(t, environ, "--policy-rules", "1/calendar_day").started(t)
	submitMessage(t, "redis://"+m.Addr(), "alice", time.Hour)
	line := worker.logged(t, "gave up an alert")
	require.Equal(t, "user_quota", line["kind"])
	require.Contains(t, line["error"], "its address is internal, which is not allowed")
	require.NotRegexp(t, "alice|s3cret", worker.stderr.String())
}
