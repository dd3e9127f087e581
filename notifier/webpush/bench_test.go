package webpush_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// BenchmarkEncrypt encrypts a payload of 200 bytes, which each push needs.
func BenchmarkEncrypt(b *testing.B) {
	service := notifiertest.NewPushService(time.Now)
	b.Cleanup(service.Close)
	address, err := service.Subscribe(keys().Public)
	require.NoError(b, err)
	s, err := webpush.ParseSubscription(address)
	require.NoError(b, err)
	text := []byte(strings.Repeat("a", 200))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := webpush.Encrypt(s, text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSign signs a VAPID token, which happens once an hour and push service.
func BenchmarkSign(b *testing.B) {
	w, err := webpush.New(webpush.Config{PrivateKey: keys().Private, Subject: "ops@example.com", Now: time.Now})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	now := time.Now()
	for b.Loop() {
		now = now.Add(24 * time.Hour)
		if _, err := w.Authorization("https://push.example.com", now); err != nil {
			b.Fatal(err)
		}
	}
}
