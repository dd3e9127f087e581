package apns_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// openBench returns a channel and its server, with a clock.
func openBench(b *testing.B, now func() time.Time) (*apns.Notifier, *notifiertest.APNsServer) {
	b.Helper()
	s, err := notifiertest.NewAPNsServer(time.Now, 1000)
	require.NoError(b, err)
	b.Cleanup(s.Close)
	key, err := s.Key()
	require.NoError(b, err)
	a, err := apns.New(apns.Config{
		Key: key, KeyID: notifiertest.APNsKeyID, TeamID: notifiertest.APNsTeamID, Topic: notifiertest.APNsTopic,
		Endpoint: s.URL(), RootCAs: s.Roots(), Now: now,
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, a.Close()) })
	return a, s
}

// BenchmarkPush compares the channel with a bare loop of net/http that sends the same bytes.
func BenchmarkPush(b *testing.B) {
	const parallel = 64 // a processor
	b.Run("channel", func(b *testing.B) {
		a, _ := openBench(b, time.Now)
		n := order(device())
		b.ReportAllocs()
		b.SetParallelism(parallel)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if r := a.Notify(b.Context(), n); r.Status != notifier.Delivered {
					b.Error(r.Err)
				}
			}
		})
	})
	b.Run("bare", func(b *testing.B) {
		a, s := openBench(b, time.Now)
		require.Equal(b, notifier.Delivered, a.Notify(b.Context(), order(device())).Status)
		model := s.Pushes()[0]
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.Roots(), MinVersion: tls.VersionTLS12}}
		b.Cleanup(transport.CloseIdleConnections)
		post := func() error {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL()+"/3/device/"+model.Device, bytes.NewReader(model.Payload))
			if err != nil {
				return fmt.Errorf("make a request: %w", err)
			}
			request.Header = model.Header.Clone()
			answer, err := transport.RoundTrip(request)
			if err != nil {
				return fmt.Errorf("send a request: %w", err)
			}
			defer answer.Body.Close()
			if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				return errors.New(answer.Status)
			}
			return nil
		}
		require.NoError(b, post())
		b.ReportAllocs()
		b.SetParallelism(parallel)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := post(); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkSign signs a provider token, which happens every 35 minutes.
func BenchmarkSign(b *testing.B) {
	now := time.Now()
	a, _ := openBench(b, func() time.Time { now = now.Add(time.Hour); return now })
	for b.Loop() {
		if _, err := a.Bearer(); err != nil {
			b.Fatal(err)
		}
	}
}
