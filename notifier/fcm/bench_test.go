package fcm_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// BenchmarkPush is a push to a local server over HTTP/2, beside the same request with a bare
// http.Client.
func BenchmarkPush(b *testing.B) {
	const sent = `{"message":{"notification":{"title":"Hello"},"token":"` + phone + `"}}`
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"name": "projects/shop-1234/messages/1"}`)
	}))
	target.EnableHTTP2 = true
	target.StartTLS()
	b.Cleanup(target.Close)
	keys, err := notifiertest.NewFCMServer(time.Now)
	require.NoError(b, err)
	b.Cleanup(keys.Close)
	credentials, err := keys.Credentials()
	require.NoError(b, err)
	f, err := fcm.New(fcm.Config{Credentials: credentials, Endpoint: target.URL, RootCAs: keys.Roots(), Now: time.Now})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.Close()) })

	b.Run("fcm", func(b *testing.B) {
		together(b, func(ctx context.Context) error { return f.Notify(ctx, order(phone)).Err })
	})
	transport := &http.Transport{
		ForceAttemptHTTP2: true, MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8,
		TLSClientConfig: &tls.Config{RootCAs: keys.Roots(), MinVersion: tls.VersionTLS12},
	}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: fcm.DefaultTimeout}
	b.Run("bare", func(b *testing.B) {
		together(b, func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL+"/v1/projects/shop-1234/messages:send", bytes.NewReader([]byte(sent)))
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, response.Body)
			return errors.Join(err, response.Body.Close())
		})
	})
}

// together does b.N pushes, 64 at a time.
func together(b *testing.B, push func(context.Context) error) {
	b.Helper()
	require.NoError(b, push(b.Context())) // with the token and the first connection
	work := make(chan struct{})
	problems := make([]error, 64)
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range problems {
		all.Go(func() {
			for range work {
				problems[i] = errors.Join(problems[i], push(b.Context()))
			}
		})
	}
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	all.Wait()
	require.NoError(b, errors.Join(problems...))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pushes/s")
}

// BenchmarkCheck is what it takes to make and measure the JSON of a message.
func BenchmarkCheck(b *testing.B) {
	s, err := notifiertest.NewFCMServer(time.Now)
	require.NoError(b, err)
	b.Cleanup(s.Close)
	credentials, err := s.Credentials()
	require.NoError(b, err)
	var channel notifier.Checker
	channel, err = fcm.New(fcm.Config{Credentials: credentials, Now: time.Now})
	require.NoError(b, err)
	n := order(phone)
	n.Data = map[string]string{"order": "17"}
	for b.Loop() {
		require.NoError(b, channel.Check(n))
	}
}
