package webhook_test

import (
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// contactAt serves a contact, and returns its URL and an announcer that trusts it.
func contactAt(t *testing.T, serve http.HandlerFunc, change ...func(*webhook.AnnouncerConfig)) (*webhook.Announcer, string) {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	c := webhook.AnnouncerConfig{AllowInternal: true, RootCAs: x509.NewCertPool(), Now: time.Now}
	c.RootCAs.AddCert(server.Certificate())
	for _, f := range change {
		f(&c)
	}
	announcer, err := webhook.NewAnnouncer(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, announcer.Close()) })
	return announcer, server.URL + "/alerts?token=" + token
}

func answers(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(status)
		_, _ = w.Write(body) // a provider may repeat what it refuses
	}
}

func TestAnnouncerConformance(t *testing.T) {
	t.Parallel()
	serving := func(serve http.HandlerFunc) func(t *testing.T) (notifier.Announcer, string) {
		return func(t *testing.T) (notifier.Announcer, string) {
			t.Helper()
			announcer, to := contactAt(t, serve, func(c *webhook.AnnouncerConfig) { c.Secret = secret })
			return announcer, to
		}
	}
	notifiertest.RunAnnouncer(t, notifiertest.AnnouncerSuite{
		New:     serving(answers(http.StatusNoContent)),
		Failing: serving(answers(http.StatusBadRequest)),
		Stuck: serving(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // an answer may still arrive while the client hangs up
		}),
		Secrets: []string{secret, token, "127.0.0.1"},
	})
}

func TestANoticeIsPostedAsItIs(t *testing.T) {
	t.Parallel()
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	var posted notifier.Notice
	var header http.Header
	announcer, to := contactAt(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		if err != nil || json.Unmarshal(body, &posted) != nil {
			panic(http.ErrAbortHandler)
		}
		header = r.Header
	}, func(c *webhook.AnnouncerConfig) { c.Secret = secret })
	n := notifiertest.Notices()["report"]
	result := announcer.Announce(t.Context(), to, n)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	require.Equal(t, n, posted)
	require.Equal(t, notifier.NoticeKey(n.ID), header.Get("Idempotency-Key"))
	require.Equal(t, notifier.NoticeKey(n.ID), header.Get("Webhook-Id"))
}

func TestAnnouncerAnswers(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	var status atomic.Int64
	announcer, to := contactAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			elsewhere.Add(1)
			return
		}
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(int(status.Load()))
	})
	for code, want := range map[int]notifier.Result{
		302: {Status: notifier.Permanent, Reason: notifier.ReasonRedirected},
		307: {Status: notifier.Permanent, Reason: notifier.ReasonRedirected},
		401: {Status: notifier.Permanent, Reason: notifier.ReasonUnauthorized},
		403: {Status: notifier.Permanent, Reason: notifier.ReasonUnauthorized},
		404: {Status: notifier.Permanent, Reason: notifier.ReasonMisaddressed},
		410: {Status: notifier.Permanent, Reason: notifier.ReasonGone},
		429: {Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: 7 * time.Second},
		503: {Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: 7 * time.Second},
	} {
		status.Store(int64(code))
		result := announcer.Announce(t.Context(), to, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate())
		result.Err = nil
		require.Equal(t, want, result, code)
	}
	require.Zero(t, elsewhere.Load(), "a redirect was followed")
}

// Contacts come from outside: what only this machine reaches is not theirs.
func TestInternalContactsAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	announcer, to := contactAt(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) },
		func(c *webhook.AnnouncerConfig) { c.AllowInternal = false })
	for _, contact := range []string{
		to, "https://localhost:9/", "https://[::1]:9/", "https://10.0.0.1/", "https://192.168.1.1:8443/",
		"https://169.254.169.254/latest/meta-data", "https://[::ffff:127.0.0.1]:9/", "https://[fd00::1]/", "https://0.0.0.0:9/",
		"https://2130706433/", // 127.0.0.1 in one number
	} {
		result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate(), contact)
		require.NotEqual(t, notifier.Delivered, result.Status, contact)
		require.False(t, result.Uncertain(), contact)
		if contact != "https://2130706433/" { // which may be no address at all
			require.Equal(t, notifier.ReasonMisaddressed, result.Reason, "%s: %v", contact, result.Err)
			require.ErrorContains(t, result.Err, "internal")
		}
	}
	require.Zero(t, reached.Load())
}

func TestAContactIsASoundURL(t *testing.T) {
	t.Parallel()
	announcer, to := contactAt(t, answers(http.StatusOK))
	for _, contact := range []string{
		"", "ops@example.com", "http" + to[len("https"):], "https:///alerts", "https://robot:" + password + "@example.com",
		"https://example.com/%zz", "file:///etc/passwd",
	} {
		result := announcer.Announce(t.Context(), contact, notifiertest.Notices()["account"])
		require.NoError(t, result.Validate(), contact)
		require.Equal(t, notifier.Permanent, result.Status, contact)
		require.NotContains(t, result.Err.Error(), password)
	}
}

func TestAnnouncerSettings(t *testing.T) {
	t.Parallel()
	_, err := webhook.NewAnnouncer(webhook.AnnouncerConfig{Secret: "hunter2", Timeout: -1})
	require.ErrorContains(t, err, "alert_secret")
	require.ErrorContains(t, err, "push_timeout")
	require.ErrorContains(t, err, "clock")
	require.NotContains(t, err.Error(), "hunter2")
}
