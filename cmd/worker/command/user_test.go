package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// storeOfAlice is a store with two messages to alice, of which one was
// cancelled, and the environment that names it.
func storeOfAlice(t *testing.T) (client *redis.Client, environ []string) {
	t.Helper()
	server, client := redistest.Embedded(t)
	environ = []string{"REDIS_URL=redis://" + server.Addr() + "?read_timeout=1m"}
	policies := settings.NewPolicies(client, keyspace.KeysUnder(""))
	require.NoError(t, policies.Apply(t.Context(), policy.Default()))
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{Options: sendlimit.Options{Horizon: policy.DefaultReach}}), submit.Options{}) // with tasks
	require.NoError(t, err)
	for i, id := range []string{"a", "b"} {
		o, err := submitter.Submit(t.Context(), message.Message{
			ID: id, User: "alice", SendAt: time.Now().Add(time.Duration(i+1) * time.Hour), Title: "Hi <there>",
		})
		require.NoError(t, err)
		require.Equal(t, message.Accepted, o.Outcome)
	}
	_, err = submitter.Cancel(t.Context(), "alice", "b")
	require.NoError(t, err)
	require.NoError(t, submitter.Close())
	return client, environ
}

func TestUserExport(t *testing.T) {
	t.Parallel()
	_, environ := storeOfAlice(t)
	text := prints(t, environ, "", "user", "export", "alice")
	require.Contains(t, text, `"title":"Hi <there>"`)
	entries, lists := 0, make(map[string]int)
	for line := range strings.Lines(text) {
		var entry message.UserEntry
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Outcome == message.UserEntryFound {
			lists[entry.List]++
			entries++
			continue
		}
		var summary message.UserExport
		require.NoError(t, json.Unmarshal([]byte(line), &summary))
		require.Equal(t, "alice", summary.User)
		require.Equal(t, entries, summary.Entries)
		require.WithinDuration(t, time.Now(), summary.ExportedAt.Time, time.Minute)
	}
	require.Equal(t, 2, lists["messages"])
	require.Equal(t, 1, lists["tasks"], "that of the cancelled message is gone")
	require.Equal(t, 1, lists["watch_list"])
}

func TestUserExportOfNobody(t *testing.T) {
	t.Parallel()
	_, environ := storeOfAlice(t)
	fails(t, cli.StatusNotFound, "not found: no data of user \"Alice\"\n", environ, "", "user", "export", "Alice")
}

func TestUserErase(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	text := prints(t, environ, "", "user", "erase", "alice", "--yes")
	require.Equal(t, "erased alice: 2 messages, 1 of them pending, 3 keys and 2 entries of the store,"+
		" 1 task of the queue\n", text)
	left, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	require.Empty(t, left)
	text, err = command(t, environ, "", "user", "erase", "alice", "--yes", "--json")
	require.NoError(t, err, "twice is harmless")
	require.JSONEq(t, `{"outcome":"erased","user":"alice","messages":0,"cancelled":0,"tasks":0,"keys":0,"entries":0,"running":0}`, text)
}

// Nothing is done without a yes, or on a command line that makes no sense.
func TestUserEraseHasToBeConfirmed(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	keys, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	for _, row := range []struct {
		args []string
		said string
	}{
		{[]string{"alice"}, "error: erasing can't be undone: see sendlimit-worker user export," +
			" and confirm with sendlimit-worker user erase \"alice\" --yes\n"},
		{[]string{"alice", "--yes", "--wait", "-1s"}, "error: wait \"-1s\" is not allowed: use a duration such as 90s or 5m, 0s not to wait\n"},
		{[]string{"alice", "--yes", "--wait", "x"}, "error: wait \"x\" is not allowed: use a duration such as 90s or 5m, 0s not to wait\n"},
		{[]string{"a\nb", "--yes"}, "error: user \"a\\nb\" is not allowed: use 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends\n"},
		{[]string{"--yes"}, "error: USER is missing; see sendlimit-worker user erase --help\n"},
		{[]string{"a", "b"}, "error: unexpected argument \"b\": give one USER; see sendlimit-worker user erase --help\n"},
	} {
		fails(t, cli.StatusInvalid, row.said, environ, "", append([]string{"user", "erase"}, row.args...)...)
	}
	text, err := command(t, environ, "", "user", "erase", "alice", "--json")
	require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
	require.Contains(t, text, `{"outcome":"invalid","code":"invalid_field","detail":"erasing can't be undone: `)
	left, err := client.Keys(t.Context(), "*alice*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, keys, left)
}

// What was left of a worker that died with a task is not taken away, but said.
func TestUserEraseSaysWhatStays(t *testing.T) {
	t.Parallel()
	client, environ := storeOfAlice(t)
	const scheduled, active, task = "asynq:{sl:push}:scheduled", "asynq:{sl:push}:active", "asynq:{sl:push}:t:"
	ids, err := client.ZRange(t.Context(), scheduled, 0, 0).Result()
	require.NoError(t, err)
	require.NoError(t, client.ZRem(t.Context(), scheduled, ids[0]).Err())
	require.NoError(t, client.LPush(t.Context(), active, ids[0]).Err())
	require.NoError(t, client.HSet(t.Context(), task+ids[0], "state", "active").Err())
	text, err := command(t, environ, "", "user", "erase", "alice", "--yes", "--wait", "100ms")
	require.Contains(t, text, "erased alice: 2 messages")
	status, said := failure(err)
	require.Equal(t, cli.StatusRefused, status)
	require.Contains(t, said, "in 1 task of a worker that is delivering")
}

func TestUserWithoutAStore(t *testing.T) {
	t.Parallel()
	fails(t, cli.StatusUnavailable, "no Redis at 127.0.0.1:1", []string{"REDIS_URL=redis://127.0.0.1:1"}, "", "user", "export", "alice")
}

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
		{[]string{"set", "alice"}, "a flag is required, for example --policy, --limit, --time-zone, --quiet-hours, --opt-out, --do-not-disturb-until, --best-hours, --contact or --block; see sendlimit-worker user set --help"},
		{[]string{"set", "alice", "--block", "--unblock"}, "--block and --unblock exclude each other"},
		{[]string{"set", "alice", "--policy", "gold"}, `there is no policy "gold" that this program can read: there are default, vip`},
		{[]string{"set", "alice", "--limit", "7/hour"}, `the limit 7/hour replaces no rule, as policy default has no rule with this window: it has 1/minute, 10/calendar_day`},
		{[]string{"set", "alice", "--contact", "", "--limit", ""}, `--limit requires a rule such as 20/calendar_day; --no-limits removes all limits`},
		{[]string{"set", "alice", "--category-limit", "1/day"}, `category-limit "1/day" is not allowed: use a category and a rule`},
		{[]string{"set", "alice", "--category-limit", "news=1/fortnight"}, `category-limit "news=1/fortnight" is not allowed`},
		{[]string{"set", "alice", "--quiet-hours", "nights"}, `quiet-hours "nights" is not allowed: use hours such as 22:00-08:00`},
		{[]string{"set", "alice", "--quiet-hours", "08:00-09:00", "--no-quiet-hours"}, `--quiet-hours and --no-quiet-hours exclude each other`},
		{[]string{"set", "alice", "--best-hours", "1,2 0.5"}, `best_hours[2], Monday at 02:00, is 0.5: give a whole number from 0 to 1000`},
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
