package contact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

func TestContactsThatMayBeSet(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{"", "ops@example.com", "https://example.com/a", "not a contact: the store says so", "http://127.0.0.1/"} {
		require.NoError(t, contact.Rule{}.Check("contact", allowed), allowed)
	}
	const internal = "https://0x7f.1:8443/s3cret"
	err := contact.Rule{}.Check("alert_to", internal)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "alert_to", wrong.Field)
	require.Contains(t, err.Error(), "allow_internal_webhooks")
	require.NotContains(t, err.Error(), "s3cret")
	require.NoError(t, contact.Rule{AllowInternal: true}.Check("alert_to", internal))

	p := policy.Default()
	p.AlertTo = internal
	require.Error(t, contact.Rule{}.CheckPolicy(p))
}

func TestCallbacksThatMayBeSet(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com/s3cret":              "",
		"https://8.8.8.8:8443/s3cret":             "",
		"http://example.com/s3cret":               "is not encrypted",
		"https://0x7f.1/s3cret":                   "events_allow_internal",
		"http://2130706433/s3cret":                "is at an internal address",
		"https://[::ffff:10.0.0.1]/s3cret":        "is at an internal address",
		"https://metadata.google.internal/s3cret": "is at an internal address",
		"https://robot:s3cret@example.com/":       "without user, password and fragment",
		"https://example.com/#s3cret":             "without user, password and fragment",
		"ftp://example.com/s3cret":                "an https URL",
		"https://example.com:0/s3cret":            "an https URL",
		"s3cret":                                  "an https URL",
		"":                                        "an https URL",
		"https://example.com/ s3cret":             "an https URL",
	} {
		err := contact.Callbacks{}.Check(url)
		if want == "" {
			require.NoError(t, err, url)
			continue
		}
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, url)
		require.Equal(t, "events_url", wrong.Field)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, url := range []string{"http://127.0.0.1:8080/", "https://localhost/", "http://example.com/"} {
		require.NoError(t, contact.Callbacks{AllowInternal: true}.Check(url), url)
	}
}
