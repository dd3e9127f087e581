package webhook_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

func order() notifier.Notification {
	return notifier.Notification{
		ID:             "order-17",
		User:           "alice",
		Title:          "Your order is on its way",
		SendAt:         time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC),
		Attempt:        2,
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
}

// deliver sends one notification to a receiver and returns what it received.
func deliver(t *testing.T, c webhook.Config, n notifier.Notification) notifiertest.Request {
	t.Helper()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	c.URL = strings.Replace(c.URL, "HOST", strings.TrimPrefix(receiver.URL(), "http://"), 1)
	result := open(t, c).Notify(t.Context(), n)
	require.Equal(t, notifier.Result{Status: notifier.Delivered}, result)
	requests := receiver.Requests()
	require.Len(t, requests, 1)
	return requests[0]
}

func TestRequest(t *testing.T) {
	t.Parallel()
	request := deliver(t, webhook.Config{
		URL: "http://HOST/deliver?to=all",
		Now: func() time.Time { return time.Unix(1_795_345_871, 999_000_000) },
	}, order())
	require.Equal(t, http.MethodPost, request.Method)
	require.Equal(t, "/deliver?to=all", request.URI)
	require.Equal(t, http.Header{
		"Content-Type":      {"application/json"},
		"Content-Length":    {strconv.Itoa(len(request.Body))},
		"User-Agent":        {"sendlimit"},
		"Idempotency-Key":   {"2db787b16d38824e5514db4a9208d183"},
		"Webhook-Id":        {"2db787b16d38824e5514db4a9208d183"},
		"Webhook-Timestamp": {"1795345871"},
	}, request.Header, "no signature without a secret, no authorization without a user, nothing else")
	want := `{"id":"order-17","user":"alice","title":"Your order is on its way",` +
		`"send_at":"2026-11-22T11:11:11.000Z","attempt":2}`
	require.Equal(t, want, string(request.Body))
}

func TestSignature(t *testing.T) {
	t.Parallel()
	request := deliver(t, webhook.Config{URL: "http://HOST", Secret: secret}, order())
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(request.Body, request.Header))

	changed := append([]byte(nil), request.Body...)
	changed[10] ^= 1
	require.ErrorIs(t, verifier.Verify(changed, request.Header), standardwebhooks.ErrNoMatchingSignature)
}

func TestUserInTheURLIsBasicAuthentication(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ user, want string }{
		{"robot:p%40ss@", "Basic cm9ib3Q6cEBzcw=="}, // robot:p@ss
		{"robot@", "Basic cm9ib3Q6"},                // robot:
		{"", ""},
	} {
		request := deliver(t, webhook.Config{URL: "http://" + row.user + "HOST/x"}, order())
		require.Equal(t, row.want, request.Header.Get("Authorization"), row.user)
		require.Equal(t, "/x", request.URI)
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	request := deliver(t, webhook.Config{URL: "http://HOST", UserAgent: "shop/1.2 (push)"}, order())
	require.Equal(t, "shop/1.2 (push)", request.Header.Get("User-Agent"))
}

func TestMalformedKeyIsNotSent(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	channel := open(t, webhook.Config{URL: receiver.URL()})
	for _, key := range []string{
		"",
		"alice.order-17", // a full stop would let another message have the same signed text
		"a b",
		"a\r\nX-Injected: 1",
		"ünicode",
		strings.Repeat("k", 256),
	} {
		n := order()
		n.IdempotencyKey = key
		result := channel.Notify(t.Context(), n)
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Permanent, result.Status, "%q", key)
		require.Equal(t, notifier.ReasonRejected, result.Reason, "%q", key)
	}
	require.Empty(t, receiver.Requests())
}
