package config_test

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func defaults() config.Config {
	return config.Config{
		Prefix:   "sl",
		Listen:   "127.0.0.1:8080",
		Streams:  32,
		Requests: 256, EventStreams: 512,
		StreamIdle:  30 * time.Second,
		Deliver:     true,
		Dashboard:   true,
		PushTimeout: 10 * time.Second,
		APNs:        config.APNs{Connections: 4},
		Ramp:        time.Minute,
		Policy:      policy.Default(),
		Reach:       policy.DefaultReach, PlacesPerDay: 1000, AccountPlaces: 75,
		ExpireAfter:     24 * time.Hour,
		KeepRecords:     168 * time.Hour,
		Horizon:         2 * time.Minute,
		MovesPerMinute:  10,
		Index:           true,
		StoreFullAt:     85,
		Deliveries:      64,
		MaxAttempts:     8,
		OnUncertain:     "resend",
		Tolerance:       2 * time.Second,
		RetryMin:        5 * time.Second,
		RetryMax:        15 * time.Minute,
		AlertRetryMin:   5 * time.Second,
		AlertRetryMax:   time.Hour,
		AlertRetryFor:   72 * time.Hour,
		EventsKeep:      72 * time.Hour,
		EventsMost:      100_000,
		EventsGiveUp:    24 * time.Hour,
		EventsRate:      10,
		ShutdownTimeout: 30 * time.Second,
		LogLevel:        slog.LevelInfo,
		LogFormat:       config.LogAuto,
		UnknownSettings: "reject",

		WaitReplicasTimeout: time.Second,
	}
}

// keys is every setting that there is, but for those with names of their own inside,
// such as tiers.
var keys = []string{ //nolint:globals // a constant table
	"api", "api_key", "api_key_file",
	"redis_url", "redis_tls_ca", "redis_tls_cert", "redis_tls_key", "redis_tls_server_name", "prefix", "account", "listen", "admin_listen", "require_keys", "tls_cert", "tls_key", "trusted_proxies", "base_path", "drain_delay", "streams", "streams_per_account", "stream_idle", "requests", "requests_per_account", "reads_per_account", "event_streams", "event_streams_per_account", "deliver", "relay", "dashboard", "push_url", "push_secret", "push_secret_file", "push_timeout", "push_headers", "push_proxy", "shared_devices",
	"fcm.credentials", "fcm.credentials_file", "fcm.endpoint", "apns.key", "apns.key_file", "apns.key_id", "apns.team_id", "apns.topic",
	"apns.topics", "apns.sandbox", "apns.connections", "apns.endpoint", "webpush.private_key", "webpush.private_key_file", "webpush.subject",
	"webpush.hosts", "webpush.allow_internal",
	"email_url", "smtp_password", "smtp_password_file", "email_from", "email_tls", "email_templates", "alert_secret", "alert_secret_file", "allow_internal_webhooks",
	"alert_retry_min", "alert_retry_max", "alert_retry_for",
	"events_keep", "events_most", "events_allow_internal", "events_give_up", "events_rate",
	"policy.time_zone", "policy.user_time_zone", "policy.rules", "policy.quiet_hours", "policy.only", "policy.blackouts", "policy.reach", "policy.on_conflict", "policy.shift_spread", "policy.late", "policy.account_share",
	"policy.alert_at", "policy.alert_to", "policy.unknown_categories", "pace.rate", "pace.burst", "pace.ramp", "reach", "places_per_day", "account_places", "expire_after", "keep_records", "keep_content",
	"horizon", "moves_per_minute", "index",
	"store_full_at", "wait_replicas", "wait_replicas_timeout", "queues",
	"deliveries", "max_attempts", "on_uncertain", "tolerance", "retry_min", "retry_max", "shutdown_timeout",
	"log_level", "log_format", "unknown_settings",
}

func TestNothingGivenIsTheDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.Load(nil, nil, "")
	require.NoError(t, err)
	require.Equal(t, defaults(), got)
}

// Only beyond loopback is there a load balancer that must see it.
func TestTheDrainDelayDependsOnTheAddress(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Duration{
		"127.0.0.1:1": 0, "[::1]:1": 0, "off": 0, ":1": 5 * time.Second, "192.0.2.7:1": 5 * time.Second,
	} {
		c, err := config.Load(nil, []string{"SENDLIMIT_LISTEN=" + given}, "")
		require.NoError(t, err)
		require.Equal(t, want, c.DrainDelay, given)
		c, err = config.Load(nil, []string{"SENDLIMIT_LISTEN=" + given, "SENDLIMIT_DRAIN_DELAY=0s"}, "")
		require.NoError(t, err)
		require.Zero(t, c.DrainDelay, given)
	}
}

func TestTheExampleFileListsEverySettingWithItsDefault(t *testing.T) {
	t.Parallel()
	const example = "../sendlimit.example.yaml"

	got, err := config.Load(nil, nil, example)
	require.NoError(t, err)
	want := defaults()
	want.PolicyGiven = true
	require.Equal(t, want, got)

	data, err := os.ReadFile(example)
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(data, &tree))
	var listed []string
	for key, value := range tree {
		inner, group := value.(map[string]any)
		if !group {
			listed = append(listed, key)
		}
		for name, value := range inner {
			if _, named := value.(map[string]any); !named {
				listed = append(listed, key+"."+name)
			}
		}
	}
	require.ElementsMatch(t, keys, listed)
}

// What stands in the example in comments, for names of one's own, is read too.
func TestTheExamplesInTheExampleFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../sendlimit.example.yaml")
	require.NoError(t, err)
	text := string(data)
	for _, name := range []string{"calendars", "categories", "policies", "tiers"} {
		before, after, found := strings.Cut(text, name+": {}\n")
		require.True(t, found, name)
		example := before[strings.LastIndex(before, "# "+name+":\n"):]
		indent := before[strings.LastIndex(before, "\n")+1:]
		text = before + strings.ReplaceAll(strings.ReplaceAll(example, "\n"+indent+"# ", "\n"+indent), "# "+name, name) + after
	}
	c, err := config.Load(nil, nil, file(t, text))
	require.NoError(t, err)
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day, codes exempt and not counted for shop only, digests 500/minute over all users, marketing 2/calendar_day, news 1/hour and 5/calendar_day,"+
		" offers only mon-fri 10:00-18:00 and never on holidays",
		c.Policy.String())
	require.Len(t, c.Seeds.Policies, 1)
	require.Equal(t, "5/minute, 100/calendar_day (Europe/Berlin), quiet 23:00-06:00", c.Seeds.Policies[0].String())
	require.Equal(t, []accounts.Tier{{
		Name: "free", RequestsPerMinute: 60, RequestsPerDay: 10000, LinesPerMinute: 6000, MessagesPerHour: 100, MessagesPerDay: 500, Devices: 100_000, AlertAt: []int{80, 100},
	}}, c.Seeds.Tiers)
}

// other is a value for each setting that differs from its default, with the
// field of Config that it ends in.
func other() map[string]struct {
	value string
	got   func(config.Config) any
	want  any
} {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	type row = struct {
		value string
		got   func(config.Config) any
		want  any
	}
	return map[string]row{
		"api":                   {"https://h/x", func(c config.Config) any { return c.API }, "https://h/x"},
		"api_key":               {"sk_x", func(c config.Config) any { return string(c.APIKey) }, "sk_x"},
		"api_key_file":          {"/k", func(c config.Config) any { return c.APIKeyFile }, "/k"},
		"redis_url":             {"redis://h:1", func(c config.Config) any { return c.RedisURL }, "redis://h:1"},
		"account":               {"acme_2-b", func(c config.Config) any { return c.Account }, "acme_2-b"},
		"prefix":                {"staging_2-b", func(c config.Config) any { return c.Prefix }, "staging_2-b"},
		"listen":                {"localhost:9", func(c config.Config) any { return c.Listen }, "localhost:9"},
		"deliver":               {"false", func(c config.Config) any { return c.Deliver }, false},
		"relay":                 {"false", func(c config.Config) any { return c.Relay }, "false"},
		"dashboard":             {"false", func(c config.Config) any { return c.Dashboard }, false},
		"shared_devices":        {"true", func(c config.Config) any { return c.SharedDevices }, true},
		"require_keys":          {"true", func(c config.Config) any { return c.RequireKeys }, true},
		"admin_listen":          {":9090", func(c config.Config) any { return c.AdminListen }, ":9090"},
		"tls_cert":              {"/c", func(c config.Config) any { return c.TLSCert }, "/c"},
		"tls_key":               {"/k", func(c config.Config) any { return c.TLSKey }, "/k"},
		"redis_tls_ca":          {"/ca", func(c config.Config) any { return c.RedisTLS.CA }, "/ca"},
		"redis_tls_cert":        {"/c", func(c config.Config) any { return c.RedisTLS.Cert }, "/c"},
		"redis_tls_key":         {"/k", func(c config.Config) any { return c.RedisTLS.Key }, "/k"},
		"redis_tls_server_name": {"n", func(c config.Config) any { return c.RedisTLS.ServerName }, "n"},
		"trusted_proxies": {"10.0.0.9/8, ::1", func(c config.Config) any { return c.TrustedProxies }, []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"),
		}},
		"base_path":                 {"/push/v2.a", func(c config.Config) any { return c.BasePath }, "/push/v2.a"},
		"drain_delay":               {"90s", func(c config.Config) any { return c.DrainDelay }, 90 * time.Second},
		"streams":                   {"9", func(c config.Config) any { return c.Streams }, 9},
		"streams_per_account":       {"3", func(c config.Config) any { return c.StreamsPerAccount }, 3},
		"stream_idle":               {"2m", func(c config.Config) any { return c.StreamIdle }, 2 * time.Minute},
		"push_url":                  {"https://h/p", func(c config.Config) any { return c.PushURL }, "https://h/p"},
		"push_secret_file":          {"/s", func(c config.Config) any { return c.PushSecretFile }, "/s"},
		"push_secret":               {secret + ", " + secret, func(c config.Config) any { return c.PushSecret }, config.Secret(secret + "," + secret)},
		"push_timeout":              {"29s", func(c config.Config) any { return c.PushTimeout }, 29 * time.Second},
		"push_headers":              {"X-Tenant:shop", func(c config.Config) any { return c.PushHeaders }, config.Secret("X-Tenant:shop")},
		"push_proxy":                {"environment", func(c config.Config) any { return c.PushProxy }, "environment"},
		"requests":                  {"900", func(c config.Config) any { return c.Requests }, 900},
		"requests_per_account":      {"300", func(c config.Config) any { return c.RequestsPerAccount }, 300},
		"reads_per_account":         {"100", func(c config.Config) any { return c.ReadsPerAccount }, 100},
		"event_streams":             {"64", func(c config.Config) any { return c.EventStreams }, 64},
		"event_streams_per_account": {"8", func(c config.Config) any { return c.EventStreamsPerAccount }, 8},

		"fcm.credentials":          {"account", func(c config.Config) any { return c.FCM.Credentials }, config.Secret("account")},
		"fcm.credentials_file":     {"a.json", func(c config.Config) any { return c.FCM.CredentialsFile }, "a.json"},
		"fcm.endpoint":             {"http://127.0.0.1:9/", func(c config.Config) any { return c.FCM.Endpoint }, "http://127.0.0.1:9"},
		"apns.key":                 {"pem", func(c config.Config) any { return c.APNs.Key }, config.Secret("pem")},
		"apns.key_file":            {"a.p8", func(c config.Config) any { return c.APNs.KeyFile }, "a.p8"},
		"apns.key_id":              {"ABC123DEFG", func(c config.Config) any { return c.APNs.KeyID }, "ABC123DEFG"},
		"apns.team_id":             {"DEF123GHIJ", func(c config.Config) any { return c.APNs.TeamID }, "DEF123GHIJ"},
		"apns.topic":               {"com.example.shop", func(c config.Config) any { return c.APNs.Topic }, "com.example.shop"},
		"apns.topics":              {"driver=com.example.driver", func(c config.Config) any { return c.APNs.Topics["driver"] }, "com.example.driver"},
		"apns.sandbox":             {"true", func(c config.Config) any { return c.APNs.Sandbox }, true},
		"apns.connections":         {"9", func(c config.Config) any { return c.APNs.Connections }, 9},
		"apns.endpoint":            {"https://h:8", func(c config.Config) any { return c.APNs.Endpoint }, "https://h:8"},
		"webpush.private_key":      {"key", func(c config.Config) any { return c.WebPush.PrivateKey }, config.Secret("key")},
		"webpush.private_key_file": {"a.key", func(c config.Config) any { return c.WebPush.PrivateKeyFile }, "a.key"},
		"webpush.subject":          {"ops@example.com", func(c config.Config) any { return c.WebPush.Subject }, "ops@example.com"},
		"webpush.hosts":            {"h.example, h", func(c config.Config) any { return c.WebPush.Hosts }, []string{"h.example", "h"}},
		"webpush.allow_internal":   {"true", func(c config.Config) any { return c.WebPush.AllowInternal }, true},
		"pace.ramp":                {"5m", func(c config.Config) any { return c.Ramp }, 5 * time.Minute},
		"email_url":                {"smtps://u@h:1", func(c config.Config) any { return c.EmailURL }, "smtps://u@h:1"},
		"smtp_password_file":       {"/p", func(c config.Config) any { return c.SMTPPasswordFile }, "/p"},
		"smtp_password":            {"hunter2", func(c config.Config) any { return c.SMTPPassword }, config.Secret("hunter2")},
		"email_from":               {"A <a@h>", func(c config.Config) any { return c.EmailFrom }, "A <a@h>"},
		"email_tls":                {"none", func(c config.Config) any { return c.EmailTLS }, "none"},
		"email_templates":          {"/t", func(c config.Config) any { return c.EmailTemplates }, "/t"},
		"alert_secret_file":        {"/a", func(c config.Config) any { return c.AlertSecretFile }, "/a"},
		"alert_secret":             {secret, func(c config.Config) any { return c.AlertSecret }, config.Secret(secret)},
		"policy.time_zone":         {"Europe/Berlin", func(c config.Config) any { return c.Policy.TimeZone }, "Europe/Berlin"},
		"policy.rules":             {"3/90s,2/calendar_week", func(c config.Config) any { return c.Policy.String() }, "3/90s, 2/calendar_week"},
		"policy.quiet_hours": {
			"sat,sun 00:00-24:00, 22:00-08:00", func(c config.Config) any { return c.Policy.QuietHours.Lines() },
			[]string{"sat,sun 00:00-24:00", "22:00-08:00"},
		},
		"policy.user_time_zone": {"true", func(c config.Config) any { return c.Policy.UserTimeZone }, true},
		"policy.reach":          {"30d", func(c config.Config) any { return c.Policy.Reach }, 30 * 24 * time.Hour},
		"policy.only":           {"mon-fri 09:00-20:00, sat,sun 10:00-18:00", func(c config.Config) any { return c.Policy.Only.String() }, "mon-fri 09:00-20:00 and sat,sun 10:00-18:00"},
		"policy.blackouts":      {"12-25, 2027-04-02..2027-04-05", func(c config.Config) any { return c.Policy.Blackouts.String() }, "12-25 and 2027-04-02..2027-04-05"},
		"policy.late":           {"90m", func(c config.Config) any { return c.Policy.Late }, 90 * time.Minute},
		"policy.shift_spread":   {"30m", func(c config.Config) any { return c.Policy.ShiftSpread }, 30 * time.Minute},
		"policy.on_conflict":    {"shift", func(c config.Config) any { return c.Policy.OnConflict }, policy.Shift},
		"policy.alert_at":       {"50,90", func(c config.Config) any { return c.Policy.AlertAt }, []int{50, 90}},
		"policy.account_share":  {"50%", func(c config.Config) any { return c.Policy.AccountShare }, 50},
		"policy.alert_to":       {"a@example.org", func(c config.Config) any { return c.Policy.AlertTo }, "a@example.org"},
		"policy.unknown_categories": {
			"allow", func(c config.Config) any { return c.Policy.UnknownCategories }, policy.AllowUnknown,
		},
		"pace.rate":        {"7/minute", func(c config.Config) any { return c.Pace.String() }, "7/minute"},
		"pace.burst":       {"3", func(c config.Config) any { return c.Pace.Burst }, int64(3)},
		"reach":            {"7d", func(c config.Config) any { return c.Reach }, 7 * 24 * time.Hour},
		"places_per_day":   {"50", func(c config.Config) any { return c.PlacesPerDay }, 50},
		"account_places":   {"60%", func(c config.Config) any { return c.AccountPlaces }, 60},
		"expire_after":     {"1d12h", func(c config.Config) any { return c.ExpireAfter }, 36 * time.Hour},
		"keep_records":     {"1h", func(c config.Config) any { return c.KeepRecords }, time.Hour},
		"keep_content":     {"true", func(c config.Config) any { return c.KeepContent }, true},
		"store_full_at":    {"100%", func(c config.Config) any { return c.StoreFullAt }, 100},
		"wait_replicas":    {"10", func(c config.Config) any { return c.WaitReplicas }, 10},
		"queues":           {"64", func(c config.Config) any { return c.Queues }, 64},
		"deliveries":       {"1", func(c config.Config) any { return c.Deliveries }, 1},
		"on_uncertain":     {"skip", func(c config.Config) any { return c.OnUncertain }, "skip"},
		"tolerance":        {"1m", func(c config.Config) any { return c.Tolerance }, time.Minute},
		"horizon":          {"15s", func(c config.Config) any { return c.Horizon }, 15 * time.Second},
		"moves_per_minute": {"1000", func(c config.Config) any { return c.MovesPerMinute }, 1000},
		"index":            {"false", func(c config.Config) any { return c.Index }, false},
		"max_attempts":     {"100", func(c config.Config) any { return c.MaxAttempts }, 100},
		"retry_min":        {"100ms", func(c config.Config) any { return c.RetryMin }, 100 * time.Millisecond},
		"retry_max":        {"5s", func(c config.Config) any { return c.RetryMax }, 5 * time.Second},
		"shutdown_timeout": {"10001ms", func(c config.Config) any { return c.ShutdownTimeout }, 10_001 * time.Millisecond},
		"log_level":        {"warn", func(c config.Config) any { return c.LogLevel }, slog.LevelWarn},
		"log_format":       {"json", func(c config.Config) any { return c.LogFormat }, config.LogJSON},
		"unknown_settings": {"warn", func(c config.Config) any { return c.UnknownSettings }, "warn"},

		"alert_retry_min": {"1s", func(c config.Config) any { return c.AlertRetryMin }, time.Second},
		"alert_retry_max": {"10s", func(c config.Config) any { return c.AlertRetryMax }, 10 * time.Second},
		"alert_retry_for": {"2h", func(c config.Config) any { return c.AlertRetryFor }, 2 * time.Hour},

		"allow_internal_webhooks": {"true", func(c config.Config) any { return c.AllowInternalWebhooks }, true},

		"events_keep":           {"2h", func(c config.Config) any { return c.EventsKeep }, 2 * time.Hour},
		"events_most":           {"500", func(c config.Config) any { return c.EventsMost }, 500},
		"events_allow_internal": {"true", func(c config.Config) any { return c.EventsAllowInternal }, true},
		"events_give_up":        {"2h", func(c config.Config) any { return c.EventsGiveUp }, 2 * time.Hour},
		"events_rate":           {"1000", func(c config.Config) any { return c.EventsRate }, 1000},

		"wait_replicas_timeout": {"50ms", func(c config.Config) any { return c.WaitReplicasTimeout }, 50 * time.Millisecond},
	}
}

func TestEverySettingIsReadFromEverySource(t *testing.T) {
	t.Parallel()
	table := other()
	require.Len(t, table, len(keys))
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			row := table[key]

			c, err := config.Load(nil, []string{variable(key) + "=" + row.value}, "")
			require.NoError(t, err)
			require.Equal(t, row.want, row.got(c), "environment")

			c, err = config.Load(nil, nil, file(t, yamlOf(key, row.value)))
			require.NoError(t, err)
			require.Equal(t, row.want, row.got(c), "file")

			flags, program := pflag.NewFlagSet("program", pflag.ContinueOnError), config.Worker
			if key == "account" || strings.HasPrefix(key, "api") {
				program = config.Commands
			}
			config.RegisterFlags(flags, program)
			if slices.Contains(secrets(), key) { // a command line is no place for it
				require.Nil(t, flags.Lookup(flagOf(key)))
				return
			}
			require.NoError(t, flags.Parse([]string{"--" + flagOf(key) + "=" + row.value}))
			c, err = config.Load(flags, nil, "")
			require.NoError(t, err)
			require.Equal(t, row.want, row.got(c), "flag")
		})
	}
}

// The policy is logged as a whole, under its own name.
func TestEverySettingIsLoggedByItsName(t *testing.T) {
	t.Parallel()
	want := []string{"policy"}
	for _, key := range keys {
		if !strings.HasPrefix(key, "policy.") {
			want = append(want, strings.ReplaceAll(key, ".", "_"))
		}
	}
	var logged []string
	for _, value := range defaults().LogValue().Group() {
		logged = append(logged, value.Key)
	}
	require.ElementsMatch(t, want, logged)
	for _, key := range secrets() {
		c, err := config.Load(nil, []string{variable(key) + "=" + other()[key].value}, "")
		require.NoError(t, err)
		shown := c.LogValue().String()
		require.Contains(t, shown, strings.ReplaceAll(key, ".", "_")+"=***")
		for word := range strings.SplitSeq(other()[key].value, ", ") {
			require.NotContains(t, shown, "="+word)
		}
	}
}

func TestFlagBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	t.Parallel()
	name := file(t, "prefix: file\nlisten: 127.0.0.1:1\ndeliveries: 7\nreach: \"\"\n")
	environ := []string{
		"SENDLIMIT_PREFIX=environment", "SENDLIMIT_LISTEN=127.0.0.1:2",
		"SENDLIMIT_DELIVERIES=", // empty is not given
		"SENDLIMIT_PORT=tcp://10.0.0.1:80", "PATH=/bin", "no equals sign",
	}
	flags := workerFlags(t, "--prefix", "flag")

	got, err := config.Load(flags, environ, name)
	require.NoError(t, err)
	want := defaults()
	want.Prefix = "flag"
	want.Listen = "127.0.0.1:2"
	want.Deliveries = 7
	require.Equal(t, want, got)
}

func TestProcessEnvironmentIsLeftAlone(t *testing.T) {
	t.Setenv("SENDLIMIT_PREFIX", "process")
	t.Setenv("REDIS_URL", "redis://process")
	for _, environ := range [][]string{nil, {"A=B"}} {
		got, err := config.Load(nil, environ, "")
		require.NoError(t, err)
		require.Equal(t, defaults(), got)
	}
}

func TestSpecialValues(t *testing.T) {
	t.Parallel()
	load := func(setting, value string) config.Config {
		c, err := config.Load(nil, []string{variable(setting) + "=" + value}, "")
		require.NoError(t, err)
		return c
	}
	require.Empty(t, load("listen", "off").Listen)
	require.Equal(t, "[::1]:0", load("listen", "[::1]:0").Listen)
	require.Equal(t, config.LogTarget, load("push_url", "log:").PushURL)
	require.Equal(t, "http://h", load("push_url", "http://h").PushTarget())
	require.Equal(t, "slack://hook:T@webhook", load("push_url", "slack://hook:T@webhook").PushTarget())
	require.Equal(t, "generic+https://h", load("push_url", "generic+https://h").PushTarget())
	require.Equal(t, config.LogTarget, load("push_url", "").PushTarget())

	utc := load("policy.time_zone", "UTC")
	require.Equal(t, policy.Default(), utc.Policy, "UTC is spelled as no zone")
	require.True(t, utc.PolicyGiven)

	zone := load("policy.time_zone", "Asia/Kathmandu")
	require.Equal(t, policy.Default().Rules, zone.Policy.Rules, "a zone alone keeps the default rules")
	require.NoError(t, zone.Policy.Validate())
}

func TestFlagsShowTheirDefaults(t *testing.T) {
	t.Parallel()
	worker := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	config.RegisterFlags(worker, config.Worker)
	usage := worker.FlagUsages()
	require.Contains(t, usage, "--push-timeout duration")
	require.Contains(t, usage, "(default 10s)")
	require.Contains(t, usage, "(default 1/minute, 5/hour, 10/calendar_day)")
	require.Contains(t, usage, "--config file")

	enqueue := pflag.NewFlagSet("enqueue", pflag.ContinueOnError)
	config.RegisterFlags(enqueue, config.Commands)
	var names []string
	enqueue.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	require.Equal(t, []string{
		"account", "api", "api-key-file", "config", "prefix",
		"redis-tls-ca", "redis-tls-cert", "redis-tls-key", "redis-tls-server-name", "redis-url",
	}, names)
}

func workerFlags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	config.RegisterFlags(flags, config.Worker)
	require.NoError(t, flags.Parse(args))
	return flags
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sendlimit.yaml")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}
