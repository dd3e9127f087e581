package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

func TestHeadersOfTheOperator(t *testing.T) {
	t.Parallel()
	headers, err := webhook.ParseHeaders("x-api-key: k-17: and more\n\n  X-Tenant:shop\r\nAccept: a, b\nX-Tenant: two\n")
	require.NoError(t, err)
	require.Equal(t, http.Header{"X-Api-Key": {"k-17: and more"}, "X-Tenant": {"shop", "two"}, "Accept": {"a, b"}}, headers)
	request := deliver(t, webhook.Config{URL: "http://HOST", Secret: secret, Headers: headers}, order())
	for name, values := range headers {
		require.Equal(t, values, request.Header[name])
	}
	require.NotEmpty(t, request.Header.Get("Webhook-Signature"))
	require.Equal(t, "application/json", request.Header.Get("Content-Type"))

	request = deliver(t, webhook.Config{URL: "http://HOST", Headers: http.Header{"Authorization": {"Bearer t"}}}, order())
	require.Equal(t, "Bearer t", request.Header.Get("Authorization"))
}

func TestHeadersThatAreNotTheOperators(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"hunter2", ": hunter2", "X Tenant: hunter2", "X-Ü: hunter2", "Host: hunter2", "content-type: hunter2", "Content-Length: 2",
		"webhook-id: hunter2", "WEBHOOK-SIGNATURE: hunter2", "idempotency-key: hunter2", "Transfer-Encoding: chunked", "User-Agent: hunter2",
		"X-Tenant: hunter2\x00", "X-Tenant: hunter2ü", "X-Tenant: " + strings.Repeat("h", 4096), strings.Repeat("X: hunter2\n", 33),
	} {
		_, err := webhook.ParseHeaders(text)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, text)
		require.Equal(t, "push_headers", invalid.Field)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := webhook.New(webhook.Config{
		URL: "http://robot:" + password + "@push.example.com", Headers: http.Header{"Authorization": {"hunter2"}}, Now: time.Now,
	})
	require.ErrorContains(t, err, `push_headers "Authorization"`)
	require.NotContains(t, err.Error(), "hunter2")
	_, err = webhook.New(webhook.Config{URL: "http://push.example.com", Headers: http.Header{"Host": {"hunter2"}}, Now: time.Now})
	require.ErrorContains(t, err, "push_headers")
}

func TestAProxyThatTheOperatorNames(t *testing.T) {
	t.Parallel()
	proxy := notifiertest.NewReceiver(time.Now)
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL())
	require.NoError(t, err)
	channel := open(t, webhook.Config{URL: "http://provider.invalid/deliver", Proxy: http.ProxyURL(address)})
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), order()).Status)
	require.Len(t, proxy.Requests(), 1, "the name does not resolve, so the proxy got it")
}

func TestAProxyThatRefuses(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "provider.invalid:443" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(strings.Replace(proxy.URL, "http://", "http://robot:"+password+"@", 1))
	require.NoError(t, err)
	result := open(t, webhook.Config{URL: "https://provider.invalid/" + token, Proxy: http.ProxyURL(address)}).Notify(t.Context(), order())
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
	require.EqualError(t, result.Err, "no answer from the webhook: the proxy answered with HTTP status 407")
}
