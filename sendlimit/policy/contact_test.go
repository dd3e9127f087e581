package policy_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestValidContact(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{
		"ops@example.com",
		"first.last+alerts@mail.example.co.uk",
		"root@localhost",
		"o'neil@xn--bcher-kva.example",
		strings.Repeat("a", 64) + "@example.com",
		"https://example.com",
		"HTTPS://example.com:8443/alerts?token=abc",
		"https://[2001:db8::1]/alerts",
	} {
		require.NoError(t, policy.ValidContact(allowed), allowed)
	}
	for _, refused := range []string{
		"",
		"ops",
		"@example.com",
		"ops@",
		"ops@example..com",
		"ops@-example.com",
		"ops@[192.0.2.1]",
		"Ops <ops@example.com>",
		"<ops@example.com>",
		"ops@example.com (the operators)",
		"ops@example.com, eve@example.com",
		"ops@example.com;eve@example.com",
		" ops@example.com",
		"ops@example.com\r\nBcc: eve@example.com", // a header of its own
		"ops\n@example.com",
		"ops@example.com\x00",
		`"two words"@example.com`,
		"jörg@example.com",
		"ops@bücher.example", // in its xn-- form
		strings.Repeat("a", 65) + "@example.com",
		"ops@" + strings.Repeat("a.", 130) + "com",
		"http://example.com/alerts", // read by everybody on the way
		"mailto:ops@example.com",
		"https:example.com",
		"https:///alerts",
		"https://:443/alerts",
		"https://example.com:0/",
		"https://example.com:65536/",
		"https://example.com:/",
		"https://robot:hunter2@example.com/", // contacts are shown
		"https://example.com/#part",
		"https://example.com/a b",
		"https://example.com/\r\nHost: evil.example",
		"https://example.com/" + strings.Repeat("a", policy.MaxContact),
	} {
		err := policy.ValidContact(refused)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, refused)
		require.Equal(t, "contact", invalid.Field)
		require.Equal(t, refused, invalid.Value)
	}
	require.EqualError(t, policy.ValidContact("ops"), `contact "ops" is not allowed:`+
		` use one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts`)
}

// The path of a URL may be secret.
func TestRedactContact(t *testing.T) {
	t.Parallel()
	for contact, shown := range map[string]string{
		"":                "",
		"ops@example.com": "ops@example.com",
		"https://example.com:8443/alerts/s3cret?token=abc": "https://example.com:8443/…",
		"https://example.com":                              "https://example.com/…",
	} {
		require.Equal(t, shown, policy.RedactContact(contact))
	}
}

func TestPolicyAlertsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, percents := range [][]int{{0}, {101}, {80, 80}, {100, 80}, {-1, 50}} {
		policy := story.PolicyOf(t, "1/day")
		policy.AlertAt = percents
		require.ErrorContains(t, policy.Validate(), "alert_at")
	}
	policy := story.PolicyOf(t, "1/day")
	policy.AlertTo = "http://example.com"
	require.ErrorContains(t, policy.Validate(), `alert_to "http://example.com" is not allowed`)
}

func TestLogsOfPoliciesHaveNobodysWholeAddress(t *testing.T) {
	t.Parallel()
	for to, logged := range map[string]string{
		"ops@example.com":              "alerts to …@example.com",
		"https://example.com/s3cret@b": "alerts to https://example.com/…",
	} {
		p := policy.Default()
		p.AlertTo = to
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("it", "rules", p)
		require.Contains(t, log.String(), logged, to)
		require.NotContains(t, log.String(), "s3cret", to)
		require.NotContains(t, log.String(), "ops", to)
	}
}
