package apns_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
