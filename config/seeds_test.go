package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
)

// settingsFile is a file with the text.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestSeedsAreRead(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 32)
	c, err := config.Load(nil, nil, settingsFile(t, `
tiers:
  free: {requests_per_minute: 6e1, lines_per_minute: 9_00, messages_per_hour: 100, messages_per_day: 500, alert_at: []}
  open:
accounts:
  acme:
    tier: free
    contact: ops@acme.example
    time_zone: Europe/Berlin
    report_at: "08:00"
    keys:
      - key_sha256: `+strings.ToUpper(hash)+`
      - {key_sha256: `+strings.Repeat("0b", 32)+`, scopes: [admin]}
`))
	require.NoError(t, err)
	require.Equal(t, []accounts.Tier{
		{Name: "free", RequestsPerMinute: 60, LinesPerMinute: 900, MessagesPerHour: 100, MessagesPerDay: 500, AlertAt: []int{}}, {Name: "open"},
	}, c.Seeds.Tiers)
	require.Len(t, c.Seeds.Accounts, 1)
	acme := c.Seeds.Accounts[0]
	require.Equal(t, accounts.Account{
		Name: "acme", Tier: "free", Contact: "ops@acme.example", TimeZone: "Europe/Berlin", ReportAt: "08:00",
	}, acme.Account)
	require.Equal(t, []accounts.KeySeed{
		{SHA256: hash, Scopes: []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}},
		{SHA256: strings.Repeat("0b", 32), Scopes: []accounts.Scope{accounts.ScopeAdmin}},
	}, acme.Keys)
}

func TestFurtherPoliciesAreRead(t *testing.T) {
	t.Parallel()
	c, err := config.Load(nil, nil, settingsFile(t, `
policy:
  categories: {otp: {exempt: true}}
policies:
  vip: {rules: [5/minute], quiet_hours: ["22:00-08:00"], reach: 30d, categories: {marketing: {rules: [2/calendar_day]}}}
  trial:
    rules: [1/hour]
    time_zone: Asia/Kathmandu
    user_time_zone: true
`))
	require.NoError(t, err)
	require.Equal(t, "1/minute, 5/hour, 10/calendar_day, otp exempt", c.Policy.String())
	require.True(t, c.PolicyGiven)
	require.Len(t, c.Seeds.Policies, 2)
	require.Equal(t, "vip", c.Seeds.Policies[0].Name)
	require.Equal(t, "5/minute, marketing 2/calendar_day, quiet 22:00-08:00, at most 30d ahead", c.Seeds.Policies[0].String())
	require.Equal(t, "trial", c.Seeds.Policies[1].Name)
	require.Equal(t, "1/hour (the user's time zone, else Asia/Kathmandu)", c.Seeds.Policies[1].String())
}

func TestSeedsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"policies: [vip]":                                                      "policies \"a list\" is not allowed: use a mapping of names to policies",
		"policies: {Vip: {rules: [1/day]}}":                                    `policies "Vip" is not allowed: use a name of 1 to 64`,
		"policies: {default: {rules: [1/day]}}":                                `policies "default" is not allowed: use another name: what everybody else goes by is under policy`,
		"policies: {vip: 1/day}":                                               "policies.vip \"a plain value\" is not allowed: use a mapping of time_zone, user_time_zone, rules, ",
		"policies: {vip: }":                                                    "a policy needs at least one rule",
		"policies: {vip: {name: a}}":                                           `unknown setting "policies.vip.name"`,
		"policies: {vip: {rules: [1/day, x]}}":                                 `policies.vip.rules "x" is not allowed: use a rule`,
		"policy: {calendars: [12-25]}":                                         `policy.calendars "a list" is not allowed: use a mapping of names to lists of dates`,
		"policy: {calendars: {feasts: [soon]}}":                                `policy.calendars.feasts "soon" is not allowed: use dates only`,
		"policy: {calendars: {feasts: }}":                                      `policy.calendars.feasts "" is not allowed: use a list of dates`,
		"policy: {blackouts: [feasts]}":                                        "blackouts names the calendar feasts, which is not in calendars",
		"policy: {categories: {otp: {blackouts: [feasts]}}}":                   "categories.otp.blackouts names the calendar feasts, which is not in calendars",
		"policy: {categories: [otp]}":                                          `policy.categories "a list" is not allowed: use a mapping of categories`,
		"policy: {categories: {otp: {}}}":                                      "categories.otp needs at least one rule",
		"policy: {categories: {otp: {rules: x}}}":                              `policy.categories.otp.rules "x" is not allowed: use a list of rules`,
		"tiers: [free]":                                                        "tiers \"a list\" is not allowed: use a mapping of names to tiers",
		"tiers: {Free: {}}":                                                    `tiers "Free" is not allowed`,
		"tiers: {free: {per_day: 5}}":                                          `unknown setting "tiers.free.per_day": there are requests_per_minute, `,
		"tiers: {free: 5}":                                                     "a mapping of requests_per_minute, ",
		"tiers: {free: {messages_per_day: many}}":                              "tiers.free.messages_per_day \"a plain value\" is not allowed: use a whole number",
		"tiers: {free: {messages_per_day: 1.5}}":                               "tiers.free.messages_per_day \"a plain value\" is not allowed: use a whole number",
		"tiers: {free: {lines_per_minute: -1}}":                                "tiers.free.lines_per_minute \"-1\" is not allowed: use 0, which is no limit",
		"accounts: {acme: {keys: sk_hunter2}}":                                 "a list of key_sha256 with scopes",
		"accounts: {acme: {keys: [sk_hunter2]}}":                               "a mapping of key_sha256, scopes",
		"accounts: {acme: {contact: [a@example.com]}}":                         "accounts.acme.contact \"a list\" is not allowed: use a plain value",
		"tiers: {free: {alert_at: [0]}}":                                       "percents of 1 to 100, ascending",
		"accounts: {acme: {contact: ops}}":                                     "accounts.acme.contact",
		"accounts: {acme: {time_zone: Mars}}":                                  "accounts.acme.time_zone",
		"accounts: {acme: {keys: [{key_sha256: sk_hunter2}]}}":                 "accounts.acme.keys.1.key_sha256",
		"accounts: {acme: {key: sk_hunter2}}":                                  "there are tier, contact, time_zone, report_at, keys",
		"tiers: {free: {}}\naccounts: {acme: {tier: gold}}":                    "the name of a tier under tiers",
		"accounts: {acme: {keys: [{key_sha256: sk_hunter2, scopes: [root]}]}}": "submit, read, admin and content",
		"accounts: {a: {keys: [{key_sha256: sk_hunter2, scopes: [content]}]}}": "\"content\" without admin",
	} {
		_, err := config.Load(nil, nil, settingsFile(t, text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2", "it may be a key")
	}
}

func TestSeedsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	name := settingsFile(t, `
tiers:
  Free: {messages_per_day: -5, alert_at: [0], per_day: 5}
accounts:
  Acme:
    tier: gold
    contact: ops
    time_zone: Mars
    report_at: noon
    keys:
      - {key_sha256: hunter2, scopes: [root]}
`)
	_, err := config.Load(nil, nil, name)
	problem, ok := errors.AsType[*config.Error](err)
	require.True(t, ok, err)
	fields := make([]string, len(problem.Rejected))
	for i, rejected := range problem.Rejected {
		fields[i] = rejected.Field
	}
	require.ElementsMatch(t, []string{
		"setting", "tiers", "tiers.Free.messages_per_day", "tiers.Free.alert_at",
		"accounts", "accounts.Acme.tier", "accounts.Acme.contact", "accounts.Acme.time_zone", "accounts.Acme.report_at",
		"accounts.Acme.keys.1.scopes", "accounts.Acme.keys.1.key_sha256",
	}, fields)
	require.NotContains(t, err.Error(), "hunter2")
	require.Contains(t, err.Error(), name+", line 11")
}

func TestExposed(t *testing.T) {
	t.Parallel()
	for listen, exposed := range map[string]bool{
		"off": false, "127.0.0.1:8080": false, "[::1]:8080": false, "localhost:0": false,
		":8080": true, "0.0.0.0:8080": true, "[::]:8080": true, "192.0.2.7:80": true, "api.example.com:80": true,
	} {
		c, err := config.Load(nil, []string{"SENDLIMIT_LISTEN=" + listen}, "")
		require.NoError(t, err, listen)
		require.Equal(t, exposed, c.Exposed(), listen)
		c, err = config.Load(nil, []string{"SENDLIMIT_ADMIN_LISTEN=" + listen}, "")
		require.NoError(t, err, listen)
		require.Equal(t, exposed, c.AdminExposed(), listen)
	}
}

func TestBothFilesOfTLS(t *testing.T) {
	t.Parallel()
	_, err := config.Load(nil, []string{"SENDLIMIT_TLS_CERT=/c"}, "", config.BothOfTLS)
	require.ErrorContains(t, err, "tls_key is required with tls_cert")
	_, err = config.Load(nil, []string{"SENDLIMIT_TLS_KEY=/k"}, "", config.BothOfTLS)
	require.ErrorContains(t, err, "tls_cert is required with tls_key")
}
