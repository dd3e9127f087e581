package webhook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	password = "hunter2-in-the-url"
	token    = "token-in-the-query"
)

// open returns a channel that is closed when the test ends.
func open(t *testing.T, c webhook.Config) *webhook.Notifier {
	t.Helper()
	if c.Now == nil {
		c.Now = time.Now
	}
	w, err := webhook.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func TestConformance(t *testing.T) {
	t.Parallel()
	row := func(first, last int, status notifier.Status, reason notifier.Reason) notifiertest.StatusRow {
		return notifiertest.StatusRow{First: first, Last: last, Status: status, Reason: reason}
	}
	notifiertest.RunHTTP(t, notifiertest.HTTPSuite{
		New: func(t *testing.T, baseURL string, timeout time.Duration) notifier.Notifier {
			t.Helper()
			return open(t, webhook.Config{
				URL:     strings.Replace(baseURL, "http://", "http://robot:"+password+"@", 1) + "/push?token=" + token,
				Secret:  secret,
				Timeout: timeout,
			})
		},
		Statuses: []notifiertest.StatusRow{
			row(200, 299, notifier.Delivered, ""),
			row(300, 399, notifier.Permanent, notifier.ReasonRedirected),
			row(401, 401, notifier.Refused, notifier.ReasonUnauthorized),
			row(403, 403, notifier.Refused, notifier.ReasonUnauthorized),
			row(404, 404, notifier.Retry, notifier.ReasonMisaddressed),
			row(405, 405, notifier.Permanent, notifier.ReasonMisaddressed),
			row(407, 407, notifier.Refused, notifier.ReasonUnauthorized),
			row(408, 408, notifier.Retry, notifier.ReasonUnavailable),
			row(410, 410, notifier.Retry, notifier.ReasonGone),
			row(421, 421, notifier.Permanent, notifier.ReasonMisaddressed),
			row(425, 425, notifier.Retry, notifier.ReasonUnavailable),
			row(429, 429, notifier.Retry, notifier.ReasonRateLimited),
			row(400, 499, notifier.Permanent, notifier.ReasonRejected),
			row(500, 599, notifier.Retry, notifier.ReasonUnavailable),
		},
		MaxRetryAfter: webhook.MaxRetryAfter,
		Key:           func(r notifiertest.Request) string { return r.Header.Get("Idempotency-Key") },
		Secrets:       []string{secret, password, token, "robot"},
	})
}
