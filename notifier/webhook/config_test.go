package webhook_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{
		"http://127.0.0.1:8080/deliver",
		"HTTPS://Push.Example.com",
		"https://robot:pass@push.example.com/a/b?c=d&e=%23",
		"http://[::1]:65535",
		"http://bücher.example/",
	} {
		open(t, webhook.Config{URL: allowed})
	}
	for _, refused := range []string{
		"",
		"push.example.com/TOKEN",
		"ftp://push.example.com/TOKEN",
		"http:push.example.com/TOKEN",
		"http:///TOKEN",
		"http://:8080/TOKEN",
		"https://push.example.com/?TOKEN#part",
		"https://push.example.com/TOKEN#",
		"https://push.example.com:0/TOKEN",
		"https://push.example.com:65536/TOKEN",
		"https://push.example.com:/TOKEN",
		"https://push.example.com:https/TOKEN",
		"https://push.example.com/TOKEN\r\n",
		"https://ro bot:TOKEN@push.example.com/",
		"https://push.example.com/%zzTOKEN",
		" https://push.example.com/TOKEN",
	} {
		_, err := webhook.New(webhook.Config{URL: refused, Now: time.Now})
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, refused)
		require.Equal(t, "push_url", invalid.Field)
		require.NotContains(t, err.Error(), "TOKEN", "it shows what may be secret")
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	encode := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n))) }
	for _, allowed := range []string{"", secret, "whsec_" + encode(24), "whsec_" + encode(64), secret + ", whsec_" + encode(24), secret + "\nwhsec_" + encode(24)} {
		open(t, webhook.Config{URL: "http://127.0.0.1", Secret: allowed})
	}
	for _, refused := range []string{
		"whsec_" + encode(0),
		"whsec_" + encode(23),
		"whsec_" + encode(65),
		"whsec_not base64 at all, whatever it is!",
		"whsk_" + encode(32), // the private half of a pair of keys, which sign otherwise
		encode(32),           // the prefix says what it is
		"correct horse battery staple",
		"whsec_" + encode(23) + ",whsec_" + encode(32),
		strings.Repeat("whsec_"+encode(32)+",", 3),
	} {
		_, err := webhook.New(webhook.Config{URL: "http://127.0.0.1", Secret: refused, Now: time.Now})
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, refused)
		require.Equal(t, "push_secret", invalid.Field)
		if key := strings.TrimPrefix(refused, "whsec_"); key != "" {
			require.NotContains(t, err.Error(), key, "it shows the secret")
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, allowed := range []time.Duration{0, 1, time.Second, webhook.MaxTimeout} {
		open(t, webhook.Config{URL: "http://127.0.0.1", Timeout: allowed})
	}
	for _, refused := range []time.Duration{-1, webhook.MaxTimeout + 1} {
		_, err := webhook.New(webhook.Config{URL: "http://127.0.0.1", Timeout: refused, Now: time.Now})
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "push_timeout", invalid.Field)
		require.Equal(t, refused.String(), invalid.Value)
	}
}

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := webhook.New(webhook.Config{URL: "x", Secret: "x", Timeout: -1, UserAgent: "x\n"})
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	var fields []string
	for _, problem := range joined.Unwrap() {
		if invalid, ok := errors.AsType[*notifier.InvalidError](problem); ok {
			fields = append(fields, invalid.Field)
		}
	}
	require.Equal(t, []string{"push_url", "push_secret", "push_timeout", "user_agent"}, fields)
	require.ErrorContains(t, err, "clock")
}

// The identity changes with whatever the receiver may refuse, and shows none of it.
func TestIdentity(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, c := range []webhook.Config{
		{URL: "http://127.0.0.1"},
		{URL: "http://127.0.0.1/hunter2"},
		{URL: "http://robot:hunter2@127.0.0.1"},
		{URL: "http://127.0.0.1", Secret: secret},
		{URL: "http://127.0.0.1", Secret: secret + "," + secret},
		{URL: "http://127.0.0.1", Headers: http.Header{"X-Key": {"hunter2"}}},
	} {
		identity := open(t, c).Identity()
		require.Equal(t, identity, open(t, c).Identity())
		require.Regexp(t, `^127\.0\.0\.1, credentials [0-9a-f]{4}$`, identity)
		require.False(t, seen[identity])
		seen[identity] = true
	}
}
