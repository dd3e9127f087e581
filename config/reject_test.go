package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// policyKeys are the names under policy.
const policyKeys = "policy.time_zone, policy.user_time_zone, policy.rules, policy.quiet_hours, policy.only, policy.blackouts, policy.reach, policy.on_conflict, policy.shift_spread, policy.late, policy.account_share," +
	" policy.alert_at, policy.alert_to, policy.unknown_categories, policy.calendars, policy.categories"

// rejected loads and returns what is wrong, which has to be something.
func rejected(t *testing.T, environ []string, file string, checks ...config.Check) *config.Error {
	t.Helper()
	c, err := config.Load(nil, environ, file, checks...)
	problem, ok := errors.AsType[*config.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, config.Config{}, c)
	require.Equal(t, fault.CodeInvalidField, problem.Code())
	return problem
}

func TestEverySettingRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	const span = "a length of time such as 30s, 15m, 2h or 7d, from "
	const address = "an address and port such as 127.0.0.1:8080 or :8080, or off"
	const path = "a path such as /sendlimit, without a slash at its end: up to 64 of A-Z a-z 0-9 . _ ~ - in segments that begin with no dot"
	const push = "log:, an http or https URL with a host such as https://push.example.com/deliver, or the URL of a service" +
		" with one of these schemes: bark, discord, generic, googlechat, gotify, hangouts, ifttt, join, lark, matrix, mattermost," +
		" mqtt, mqtts, notifiarr, ntfy, opsgenie, pagerduty, pushbullet, pushover, rocketchat, signal, slack, smtp, teams, telegram," +
		" twilio, wecom, zulip"
	const mail = "log:, or an smtp or smtps URL with a host such as smtp://mail.example.com:587"
	const rule = "a rule such as 5/hour, 3/90s or 10/calendar_day" +
		" (sliding: minute, hour, day, week or a length of time; natural: calendar_minute, _hour, _day, _week, _month)"
	const hours = "hours such as 22:00-08:00, mon-fri 22:00-07:30 or sat,sun 00:00-24:00"
	for _, row := range []struct{ key, value, shown, want string }{
		{"deliver", "maybe", "maybe", "true or false"},
		{"relay", "both", "both", "true or false"},
		{"dashboard", "on", "on", "true or false"},
		{"account", "Acme", "Acme", "a name of 1 to 64 of a-z 0-9 _ -"},
		{"prefix", "a{b}", "a{b}", "1 to 32 of a-z 0-9 _ -"}, // a brace would move keys to another partition
		{"prefix", strings.Repeat("a", 33), strings.Repeat("a", 33), "1 to 32 of a-z 0-9 _ -"},
		{"listen", "8080", "8080", address},
		{"listen", "127.0.0.1:http", "127.0.0.1:http", address},
		{"listen", "127.0.0.1:65536", "127.0.0.1:65536", address},
		{"require_keys", "yes", "yes", "true or false"},
		{"base_path", "sendlimit", "sendlimit", path},
		{"base_path", "/", "/", path},
		{"base_path", "/a/", "/a/", path},
		{"base_path", "//a", "//a", path},
		{"base_path", "/a/../b", "/a/../b", path},
		{"base_path", "/a b\"", "/a b\"", path},
		{"base_path", "/" + strings.Repeat("a", 64), "/" + strings.Repeat("a", 64), path},
		{"drain_delay", "11m", "11m", span + "0s to 10m"},
		{"trusted_proxies", "10.0.0.0/8, proxy", "proxy", "networks and addresses such as 10.0.0.0/8, 192.0.2.7"},
		{"streams", "0", "0", "a whole number from 1 to 1000"},
		{"streams_per_account", "0", "0", "a whole number from 1 to 1000"},
		{"requests", "0", "0", "a whole number from 1 to 100000"},
		{"requests_per_account", "0", "0", "a whole number from 1 to 100000"},
		{"reads_per_account", "100001", "100001", "a whole number from 1 to 100000"},
		{"event_streams", "0", "0", "a whole number from 1 to 100000"},
		{"event_streams_per_account", "many", "many", "a whole number from 1 to 100000"},
		{"stream_idle", "999ms", "999ms", span + "1s to 1h"},
		{"push_url", "push.example.com", "push.example.com", push},
		{"push_url", "ftp://h/p", "ftp://…", push},
		{"push_url", "slakc://hook:token@webhook", "slakc://…", push},
		{"push_url", "gotify://h/%zz", "gotify…", push},
		{"push_url", "https:///p", "https…", push},
		{"push_url", "log", "log", push},
		{"push_timeout", "10", "10", span + "100ms to 5m"}, // seconds? minutes? ask
		{"push_timeout", "99ms", "99ms", span + "100ms to 5m"},
		{"email_url", "mail.example.com:25", "mail.example.com…", mail},
		{"email_url", "http://h:25", "http://h:25", mail},
		{"email_url", "smtp://u:hunter2@", "…", mail},
		{"email_tls", "starttls", "starttls", "mandatory, opportunistic or none"},
		{"allow_internal_webhooks", "yes", "yes", "true or false"},
		{"events_allow_internal", "yes", "yes", "true or false"},
		{"events_keep", "59s", "59s", span + "1m to 31d"},
		{"events_most", "99", "99", "a whole number from 100 to 10000000"},
		{"events_give_up", "59s", "59s", span + "1m to 30d"},
		{"events_rate", "0", "0", "a whole number from 1 to 1000"},
		{"alert_secret", "hunter2", "***", "whsec_ followed by 24 to 64 bytes in base64, or two of these with a comma between them"},
		{"policy.time_zone", "Mars/Olympus", "Mars/Olympus", "an IANA time zone such as Europe/Berlin"},
		{"policy.rules", "1/minute, 5 an hour", "5 an hour", rule},
		{"policy.rules", "1/minute,1/60s", "1/minute", "!rules has the rule 1/minute twice"},
		{"policy.rules", "[]", "[]", "!a policy needs at least one rule, such as 5/hour"},
		{"policy.user_time_zone", "yes", "yes", "true or false"},
		{"policy.quiet_hours", "22:00-08:00, 9-5", "9-5", hours},
		{"policy.quiet_hours", "00:00-24:00", "00:00-24:00", "!the quiet hours 00:00-24:00 leave no time of the week: nothing could ever be sent"},
		{"policy.reach", "367d", "367d", "1s to 366d in whole seconds, such as 30d, 36h or 90m"},
		{"policy.only", "09:00-20:00, 9-5", "9-5", hours},
		{"policy.blackouts", "25-12", "25-12", "a date such as 2027-01-01, 12-25 for every year, a range such as 2027-04-02..2027-04-05, or the name of a calendar of the policy"},
		{"policy.on_conflict", "drop", "drop", "refuse or shift"},
		{"policy.late", "8d", "8d", "refuse, now, or how late a message may be, 1s to 7d in whole seconds, such as 15m"},
		{"policy.shift_spread", "25h", "25h", "a length of time from 0s, for none, to 1d in whole seconds, such as 30m"},
		{"policy.alert_at", "100,80", "100,80", "percents of 1 to 100, ascending, such as 80 and 100"},
		{"policy.account_share", "100%", "100%", "a percentage such as 50%, from 1% to 99%"},
		{"policy.alert_to", "ada", "ada", "one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts"},
		{"reach", "367d", "367d", span + "1m to 366d"},
		{"reach", "30s", "30s", span + "1m to 366d"},
		{"account_places", "0%", "0%", "a percentage such as 85%, from 1% to 100%"},
		{"places_per_day", "0", "0", "a whole number from 1 to 100000"},
		{"expire_after", "999ms", "999ms", span + "1s to 366d"},
		{"keep_records", "forever", "forever", span + "1m to 366d"},
		{"store_full_at", "85", "85", "a percentage such as 85%, from 50% to 100%"}, // percent? a fraction? ask
		{"store_full_at", "49%", "49%", "a percentage such as 85%, from 50% to 100%"},
		{"store_full_at", "101%", "101%", "a percentage such as 85%, from 50% to 100%"},
		{"wait_replicas", "-1", "-1", "a whole number from 0 to 10"},
		{"wait_replicas_timeout", "0s", "0s", span + "10ms to 1m"}, // to Redis that is for ever
		{"queues", "-1", "-1", "a whole number from 0 to 64"},
		{"deliveries", "0", "0", "a whole number from 1 to 512"},
		{"deliveries", "513", "513", "a whole number from 1 to 512"},
		{"on_uncertain", "drop", "drop", "resend or skip"},
		{"tolerance", "99ms", "99ms", span + "100ms to 1m"},
		{"horizon", "14s", "14s", span + "15s to 1d"},
		{"moves_per_minute", "0", "0", "a whole number from 1 to 1000"},
		{"keep_content", "off", "off", "true or false"},
		{"index", "off", "off", "true or false"},
		{"max_attempts", "101", "101", "a whole number from 1 to 100"},
		{"retry_min", "0s", "0s", span + "100ms to 1d"},
		{"retry_max", "25h", "25h", span + "100ms to 1d"},
		{"alert_retry_min", "99ms", "99ms", span + "100ms to 1d"},
		{"alert_retry_max", "25h", "25h", span + "100ms to 1d"},
		{"alert_retry_for", "31d", "31d", span + "1s to 30d"},
		{"shutdown_timeout", "61m", "61m", span + "1s to 1h"},
		{"log_level", "INFO", "INFO", "debug, info, warn or error"},
		{"log_format", "xml", "xml", "auto, text or json"},
		{"unknown_settings", "ignore", "ignore", "reject or warn"},
	} {
		t.Run(row.key+"="+row.value, func(t *testing.T) {
			t.Parallel()
			problem := rejected(t, []string{variable(row.key) + "=" + row.value}, "")
			require.Len(t, problem.Rejected, 1)
			require.EqualError(t, problem, refusal(row.key, row.shown, row.want)+" (given by "+variable(row.key)+")")
		})
	}
}

// refusal returns the sentence for a value. After "!" want is the whole sentence.
func refusal(field, value, want string) string {
	if whole, ok := strings.CutPrefix(want, "!"); ok {
		return whole
	}
	return fmt.Sprintf("%s %q is not allowed: use %s", field, value, want)
}

func TestEverythingRejectedIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	name := file(t, "push_uri: http://h\nprefix: UP\npolicy: {rule: 1/minute, rules: []}\n")
	flags := workerFlags(t, "--deliveries", "many")
	_, err := config.Load(flags, []string{"SENDLIMIT_REACH=2y", "SENDLIMIT_REDIS_URL=redis://:pw@h"}, name)
	require.EqualError(t, err, strings.Join([]string{
		"7 settings are rejected:",
		`unknown setting "push_uri": there are ` + strings.Join(keys, ", ") + ", policy.calendars, policy.categories, policies, tiers, accounts (" + name + ", line 1)",
		`unknown setting "policy.rule": there are ` + policyKeys + ` (` + name + ", line 3)",
		`unknown variable SENDLIMIT_REDIS_URL: this one setting is named REDIS_URL`,
		`prefix "UP" is not allowed: use 1 to 32 of a-z 0-9 _ - (given by ` + name + ", line 2)",
		`a policy needs at least one rule, such as 5/hour (given by ` + name + ", line 3)",
		`reach "2y" is not allowed: use a length of time such as 30s, 15m, 2h or 7d, from 1m to 366d (given by SENDLIMIT_REACH)`,
		`deliveries "many" is not allowed: use a whole number from 1 to 512 (given by --deliveries)`,
	}, "\n  "))

	// Each can be picked out, and any of them makes the whole an invalid input.
	require.Len(t, errorsIn(t, err), 7)
	require.ErrorAs(t, err, new(*fault.InvalidError))
}

// A typo in the name of the secret would leave webhooks unsigned.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	const newer = "; unknown_settings: warn ignores settings of a newer version"
	for name, want := range map[string]string{
		"SENDLIMIT_LISTENN":         "did you mean SENDLIMIT_LISTEN?",
		"SENDLIMIT_PUSH_SECRETT":    "did you mean SENDLIMIT_PUSH_SECRET?",
		"SENDLIMIT_WEBHOOK":         "the names are those of sendlimit.example.yaml in capitals" + newer,
		"SENDLIMIT_PORT":            "the names are those of sendlimit.example.yaml in capitals" + newer,
		"SENDLIMIT_POLICY_TIMEZONE": "did you mean SENDLIMIT_POLICY_TIME_ZONE?",
	} {
		problem := rejected(t, []string{name + "=hunter2"}, "")
		require.EqualError(t, problem, fmt.Sprintf("unknown variable %s in the environment: %s", name, want))
	}
	// Those of Kubernetes and of tests are not ours to judge, and an empty one is not given.
	_, err := config.Load(nil, []string{
		"SENDLIMIT_SERVICE_HOST=10.0.0.1", "SENDLIMIT_SERVICE_PORT=80", "SENDLIMIT_SERVICE_PORT_HTTP=80",
		"SENDLIMIT_PORT=tcp://10.0.0.1:80", "SENDLIMIT_PORT_80_TCP=tcp://10.0.0.1:80", "SENDLIMIT_PORT_80_TCP_PROTO=tcp",
		"SENDLIMIT_WORKER_PORT_80_TCP_ADDR=10.0.0.1", "SENDLIMIT_WORKER_SERVICE_HOST=10.0.0.1",
		"SENDLIMIT_TEST_SEED=7", "SENDLIMIT_TRAFFIC=/file", "SENDLIMIT_REQUIRE_REDIS=1", "SENDLIMIT_LISTENN=",
	}, "")
	require.NoError(t, err)
}

// An older version starts with the settings of a newer one, and a mistyped name is still rejected.
func TestSettingsOfANewerVersion(t *testing.T) {
	t.Parallel()
	const settings = "shard_delay: 5s\nmqtt: {host: h, password: hunter2}\nfcm: {batching: true}\nprefix: x\n"
	environ := []string{"SENDLIMIT_SHARDING=hunter2"}
	problem := rejected(t, environ, file(t, settings))
	require.Len(t, problem.Rejected, 4)
	require.ErrorContains(t, problem, `unknown setting "shard_delay": there are `)
	require.ErrorContains(t, problem, "; unknown_settings: warn ignores settings of a newer version (")

	name := file(t, settings+"unknown_settings: warn\n")
	c, err := config.Load(nil, environ, name)
	require.NoError(t, err)
	require.Equal(t, "x", c.Prefix)
	require.Equal(t, []string{
		`unknown setting "shard_delay" (` + name + ", line 1)", `unknown setting "mqtt" (` + name + ", line 2)",
		`unknown setting "fcm.batching" (` + name + ", line 3)", `unknown setting "SENDLIMIT_SHARDING"`,
	}, c.Ignored)
	_, err = config.Load(nil, environ, name, config.KnowsAll)
	require.EqualError(t, err, strings.Join(c.Ignored, "\n  "))

	warn := []string{"SENDLIMIT_UNKNOWN_SETTINGS=warn"}
	for mistyped, want := range map[string]string{
		"push_secrett: s":                    `unknown setting "push_secrett"`,
		"require_key: true":                  `unknown setting "require_key"`,
		"policy: {rulse: [1/day]}":           `unknown setting "policy.rulse"`,
		"tiers: {free: {per_day: 5}}":        `unknown setting "tiers.free.per_day"`,
		"policies: {vip: {weight: 2}}":       `unknown setting "policies.vip.weight"`,
		"accounts: {a: {region: eu}}":        `unknown setting "accounts.a.region"`,
		"policy: {categories: {c: {of: 1}}}": `unknown setting "policy.categories.c.of"`,
	} {
		require.ErrorContains(t, rejected(t, warn, file(t, mistyped+"\n")), want)
	}
	require.ErrorContains(t, rejected(t, append(warn, "SENDLIMIT_LISTENN=x"), ""), "unknown variable SENDLIMIT_LISTENN")
}

func errorsIn(t *testing.T, err error) []error {
	t.Helper()
	joined, ok := errors.AsType[*config.Error](err)
	require.True(t, ok)
	return joined.Unwrap()
}

// Two settings may each be allowed, and not together.
func TestSettingsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	const noTarget = "--push-url is required with --redis-url: an http or https URL, or log: to only log messages;" +
		" or a channel to devices: see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file"
	const nothingToDo = "deliver is false and listen is off: this worker would do nothing"
	for _, row := range []struct {
		environ string
		check   config.Check
		want    string // "" for nothing
	}{
		// A shutdown shorter than the provider's timeout puts a running delivery back into the
		// queue, and it goes out twice.
		{"SENDLIMIT_PUSH_TIMEOUT=30s", nil, "shutdown_timeout, 30s, has to be longer than push_timeout, 30s"},
		{"SENDLIMIT_PUSH_TIMEOUT=30s SENDLIMIT_SHUTDOWN_TIMEOUT=30001ms", nil, ""},
		{"SENDLIMIT_RETRY_MIN=1h", nil, "retry_min, 1h, is longer than retry_max, 15m"},
		{"SENDLIMIT_ALERT_RETRY_MIN=2h", nil, "alert_retry_min, 2h, is longer than alert_retry_max, 1h"},
		{"SENDLIMIT_ALERT_RETRY_FOR=30m", nil, "alert_retry_max, 1h, is longer than alert_retry_for, 30m"},
		{
			"SENDLIMIT_WAIT_REPLICAS=1", config.ReplicasNeedRedis,
			"wait_replicas is 1, and the embedded store has no replicas: set redis_url, or wait_replicas to 0",
		},
		{"", config.ReplicasNeedRedis, ""},
		{"SENDLIMIT_WAIT_REPLICAS=1 REDIS_URL=redis://h", config.ReplicasNeedRedis, ""},
		{"REDIS_URL=redis://h", config.NeedsPushTarget, noTarget},
		{"REDIS_URL=redis://h SENDLIMIT_FCM_CREDENTIALS_FILE=a.json", config.NeedsPushTarget, ""},
		{"REDIS_URL=redis://h SENDLIMIT_APNS_KEY=pem", config.NeedsPushTarget, ""},
		{"REDIS_URL=redis://h SENDLIMIT_WEBPUSH_PRIVATE_KEY=key", config.NeedsPushTarget, ""},
		{"", config.NeedsPushTarget, ""},
		{"REDIS_URL=redis://h SENDLIMIT_PUSH_URL=log:", config.NeedsPushTarget, ""},
		{"REDIS_URL=redis://h SENDLIMIT_DELIVER=false", config.NeedsPushTarget, ""},
		{"SENDLIMIT_REQUESTS_PER_ACCOUNT=257", config.SharesOfAccounts, "requests_per_account, 257, is more than requests, 256"},
		{"SENDLIMIT_READS_PER_ACCOUNT=257", config.SharesOfAccounts, "reads_per_account, 257, is more than requests, 256"},
		{"SENDLIMIT_EVENT_STREAMS_PER_ACCOUNT=513", config.SharesOfAccounts, "event_streams_per_account, 513, is more than event_streams, 512"},
		{"SENDLIMIT_STREAMS_PER_ACCOUNT=33", config.SharesOfAccounts, "streams_per_account, 33, is more than streams, 32"},
		{"", config.SharesOfAccounts, ""},
		{"SENDLIMIT_STREAMS_PER_ACCOUNT=32", config.SharesOfAccounts, ""},
		{"SENDLIMIT_STREAMS=1", config.SharesOfAccounts, ""},
		{"SENDLIMIT_DELIVER=false SENDLIMIT_LISTEN=off REDIS_URL=redis://h", config.HasSomethingToDo, nothingToDo},
		{
			"SENDLIMIT_LISTEN=off", config.HasSomethingToDo,
			"listen is off, and only the API of this worker could reach its embedded store: set listen, or redis_url",
		},
		{"", config.HasSomethingToDo, ""},
		{"SENDLIMIT_DELIVER=false", config.HasSomethingToDo, ""},
		{"SENDLIMIT_LISTEN=off REDIS_URL=redis://h", config.HasSomethingToDo, ""},
		{"SENDLIMIT_DELIVER=false SENDLIMIT_LISTEN=off SENDLIMIT_RELAY=true REDIS_URL=redis://h", config.HasSomethingToDo, ""},
	} {
		var checks []config.Check
		if row.check != nil {
			checks = append(checks, row.check)
		}
		_, err := config.Load(nil, strings.Fields(row.environ), "", checks...)
		if row.want == "" {
			require.NoError(t, err, row.environ)
			continue
		}
		require.EqualError(t, rejected(t, strings.Fields(row.environ), "", checks...), row.want)
	}
	// One complaint about a setting is enough.
	for environ, complaints := range map[string]int{
		"REDIS_URL=redis://h SENDLIMIT_PUSH_URL=h":                                      1,
		"SENDLIMIT_STREAMS=0 SENDLIMIT_STREAMS_PER_ACCOUNT=33":                          1,
		"SENDLIMIT_PUSH_TIMEOUT=1y SENDLIMIT_RETRY_MAX=1y SENDLIMIT_SHUTDOWN_TIMEOUT=x": 3,
	} {
		problem := rejected(t, strings.Fields(environ), "", config.NeedsPushTarget, config.SharesOfAccounts)
		require.Len(t, problem.Rejected, complaints, environ)
	}
}

func TestAWorkerThatDeliversRelaysToo(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]bool{
		"": true, "SENDLIMIT_RELAY=false": false, "SENDLIMIT_DELIVER=false": false,
		"SENDLIMIT_DELIVER=false SENDLIMIT_RELAY=true": true,
	} {
		c, err := config.Load(nil, strings.Fields(environ), "")
		require.NoError(t, err)
		require.Equal(t, want, c.Relays(), environ)
	}
	c, err := config.Load(workerFlags(t, "--relay"), []string{"SENDLIMIT_DELIVER=false"}, "")
	require.NoError(t, err)
	require.True(t, c.Relays())
}

func TestTheFlagOfASwitchNeedsNoValue(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"--deliver": true, "--deliver=true": true, "--deliver=false": false} {
		c, err := config.Load(workerFlags(t, args), []string{"SENDLIMIT_DELIVER=false"}, "")
		require.NoError(t, err)
		require.Equal(t, want, c.Deliver, args)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const plain = "a plain value (FILE, line 1)"
	for _, row := range []struct{ content, want string }{
		{"prefix: a\nprefix: b\n", `FILE is no valid YAML: line 2, column 1: mapping key "prefix" already defined at [1:1]`},
		{"prefix: \"a\n", `FILE is no valid YAML: line 1, column 9: could not find end character of double-quoted text`},
		{
			"push_url: log:\n",
			`FILE is no valid YAML: line 1, column 11: mapping value is not allowed in this context;` +
				` a value with a colon at its end goes in quotes, such as "log:"`,
		},
		{"- prefix\n", `FILE has no settings: write one a line, name: value`},
		{"just words", `FILE has no settings: write one a line, name: value`},
		{"prefix: a\n---\nreach: 1d\n", `FILE has several documents: one is allowed`},
		{"prefix: \xff\n", `FILE can't be read: it is not UTF-8 text`},
		{strings.Repeat("#", 1<<20+1), `FILE can't be read: it has more than 1048576 bytes`},
		{"prefix: [a]", `prefix "a list" is not allowed: use ` + plain},
		{"prefix: {a: b}", `prefix "a mapping" is not allowed: use ` + plain},
		{"prefix: !!str a", `prefix "a tagged value" is not allowed: use ` + plain},
		{"prefix: *a", `prefix "an alias or anchor" is not allowed: use ` + plain},
		{"policy: strict", `policy "a plain value" is not allowed: use a mapping of ` + policyKeys + ` (FILE, line 1)`},
		{"policy: {rules: {a: b}}", `policy.rules "a mapping" is not allowed: use a list of plain values (FILE, line 1)`},
		{"policy: {rules: [[1/minute]]}", `policy.rules "a list" is not allowed: use a list of plain values (FILE, line 1)`},
	} {
		name := file(t, row.content)
		problem := rejected(t, nil, name)
		require.EqualError(t, problem, strings.ReplaceAll(row.want, "FILE", name))
	}

	_, err := config.Load(nil, []string{"REDIS_URL=redis://h:1"}, file(t, "push_url: log:\n"), config.NeedsPushTarget)
	require.NotContains(t, err.Error(), "push_url", "what the file has is not asked for")

	missing := filepath.Join(t.TempDir(), "none.yaml")
	require.EqualError(t, rejected(t, nil, missing), missing+" can't be read: opening it: no such file or directory")
	require.ErrorContains(t, rejected(t, nil, t.TempDir()), "is a directory")
}

func TestFilesThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "# only a comment\n", "---\n", "policy:\n", "prefix: ~\n", "{}"} {
		c, err := config.Load(nil, nil, file(t, content))
		require.NoError(t, err, content)
		require.Equal(t, defaults(), c, content)
	}
}

func TestValuesAreTakenAsWritten(t *testing.T) {
	t.Parallel()
	c, err := config.Load(nil, nil, file(t, "prefix: 0123 # not an octal number\nlog_level: |\n  warn\n"))
	require.NoError(t, err)
	require.Equal(t, "0123", c.Prefix)
	require.Equal(t, slog.LevelWarn, c.LogLevel)
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
	const password = "hunter2"
	good := []string{
		"REDIS_URL=redis://app:" + password + "@h:1/0?sentinel_password=" + password,
		"SENDLIMIT_PUSH_SECRET=" + secret, "SENDLIMIT_ALERT_SECRET=" + secret, "SENDLIMIT_SMTP_PASSWORD=" + password,
		"SENDLIMIT_EMAIL_URL=smtp://u:" + password + "@mail.example.com",
		"SENDLIMIT_PUSH_URL=https://u:" + password + "@push.example.com/" + password + "?token=" + password,
	}
	c, err := config.Load(nil, good, "")
	require.NoError(t, err)
	require.Equal(t, secret, string(c.PushSecret))

	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("settings", "config", c, "secret", c.PushSecret)
	encoded, err := json.Marshal(c.PushSecret)
	require.NoError(t, err)
	shown := &logged
	shown.Write(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		for _, value := range []any{c, &c, struct{ C config.Config }{c}, c.PushSecret} {
			fmt.Fprintf(shown, verb, value)
		}
	}
	require.NotContains(t, shown.String(), password)
	require.NotContains(t, shown.String(), secret)
	require.Contains(t, logged.String(), "redis://app:***@h:1/0?***")
	require.Contains(t, logged.String(), "https://push.example.com/…")
	require.Contains(t, logged.String(), "smtp://mail.example.com/…")

	problem := rejected(t, []string{
		"SENDLIMIT_PUSH_SECRET=" + password,
		"SENDLIMIT_PUSH_URL=http//u:" + password + "@push.example.com",
		"SENDLIMIT_EMAIL_URL=smtp//u:" + password + "@mail.example.com",
		"SENDLIMIT_ALERT_SECRET=" + password,
	}, "")
	require.Len(t, problem.Rejected, 4)
	require.NotContains(t, problem.Error(), password)

	for _, yaml := range []string{
		"push_secret: |" + password, "push_secret: *" + password, "push_secret: \"" + password,
		"push_secret: [" + password, "push_secret: !!int " + password, "push_secret: " + password + ": b",
		"push_secret: " + password + "\nprefix: a\nprefix: b", "push_secret: " + password + "\nprefixx: a",
		"push_secret: &" + password + " b", "redis_url: {" + password + ": b}", "push_secret: \"" + password + "\\q\"",
		"push_secret: >" + password, "push_secret: @" + password, "push_secret: %" + password,
	} {
		problem := rejected(t, nil, file(t, yaml))
		require.NotContains(t, problem.Error(), password, yaml)
	}
}

func TestRedactRedisURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                  "",
		"redis://h:1/0":                     "redis://h:1/0",
		"redis://:pw@h:1/0":                 "redis://:***@h:1/0",
		"redis://user:pw@h":                 "redis://user:***@h",
		"redis://pw@h":                      "redis://***@h", // a password in the user's place
		"redis://u:p:w@h":                   "redis://u:***@h",
		"redis://u:p@w@h":                   "redis://u:***@h",
		"redis://u:p/w@h":                   "redis://***", // can't be told from a path with an @
		"redis://h?sentinel_password=p@w":   "redis://***",
		"redis://h?sentinel_password=pw":    "redis://h?***",
		"u:pw@h:1":                          "u:***@h:1",
		"unix://u:pw@/run/r.sock?db=1":      "unix://u:***@/run/r.sock?***",
		"redis-sentinel://u:pw@a:1,b:2/one": "redis-sentinel://u:***@a:1,b:2/one",
		"redis://u:pw\x00%zz@h":             "redis://u:***@h",
	} {
		require.Equal(t, want, config.RedactRedisURL(url))
	}
}

func FuzzFile(f *testing.F) {
	f.Add("prefix: a\npolicy: {rules: [1/minute]}\n")
	f.Add("? a\n: b\n<<: *c\n- d")
	f.Fuzz(func(t *testing.T, content string) {
		_, err := config.Load(nil, nil, file(t, content))
		if err != nil {
			require.ErrorAs(t, err, new(*config.Error))
		}
	})
}
