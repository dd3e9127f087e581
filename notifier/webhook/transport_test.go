package webhook_test

import (
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := notifiertest.NewReceiver(time.Now)
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL())
	t.Setenv("NO_PROXY", "")
	// A name that never resolves: loopback is never proxied anyway.
	channel := open(t, webhook.Config{URL: "http://provider.invalid/", Timeout: 2 * time.Second})
	result := channel.Notify(t.Context(), order())
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
	require.NotContains(t, result.Err.Error(), "provider.invalid")
	require.Empty(t, proxy.Requests())
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && r.Header.Get("Idempotency-Key") != "" {
			requests.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	channel := open(t, webhook.Config{URL: server.URL})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	channel.Trust(roots)
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), order()).Status)

	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if result := channel.Notify(t.Context(), order()); result.Status != notifier.Delivered {
				t.Errorf("result %+v", result)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 65, requests.Load(), "all of them in HTTP/2")
}

func TestTLSFailureIsUnreachable(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for url, want := range map[string]string{
		untrusted.URL: "no answer from the webhook: the server's certificate is not valid here",
		strings.Replace(plain.URL, "http:", "https:", 1): "no answer from the webhook: the server does not speak TLS",
	} {
		result := open(t, webhook.Config{URL: url}).Notify(t.Context(), order())
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Retry, result.Status)
		require.Equal(t, notifier.ReasonUnreachable, result.Reason, "the request was never sent")
		require.EqualError(t, result.Err, want)
	}
}

// An endless body is left alone after a little, however fast it comes.
func TestLittleOfTheBodyIsRead(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		total, more := 0, strings.Repeat("b", 16<<10)
		for {
			n, err := io.WriteString(w, more)
			total += n
			if err != nil {
				written <- total
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	result := open(t, webhook.Config{URL: server.URL}).Notify(t.Context(), order())
	require.Equal(t, notifier.Delivered, result.Status)
	require.Less(t, <-written, 16<<20, "64 KiB and what the sockets hold")
}

func TestRetryAfterWithoutADateOfTheAnswer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	channel := open(t, webhook.Config{URL: receiver.URL(), Now: func() time.Time { return now }})
	for _, date := range [][]string{nil, {"yesterday"}} {
		receiver.Script(notifiertest.Answer{Status: http.StatusServiceUnavailable, Header: http.Header{
			"Date":        date,
			"Retry-After": {"Sun, 22 Nov 2026 11:11:41 GMT"},
		}})
		result := channel.Notify(t.Context(), order())
		require.Equal(t, 30*time.Second, result.RetryAfter, "our own clock stands in")
	}
}
