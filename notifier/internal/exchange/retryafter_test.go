package exchange_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

func header(retryAfter, date string) http.Header {
	h := make(http.Header)
	h.Set("Retry-After", retryAfter)
	if date != "" {
		h.Set("Date", date)
	}
	return h
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	for _, row := range []struct {
		retryAfter, date string
		want             time.Duration
		why              string
	}{
		{"", "", 0, "none"},
		{"120", "", 2 * time.Minute, "seconds"},
		{"0", "", 0, "at once"},
		{"-5", "", 0, "no time that is allowed"},
		{"1.5", "", 0, "not a whole number"},
		{"3601", "", time.Hour, "longer than is followed"},
		{"99999999999999999999", "", time.Hour, "larger than a number"},
		{"soon", "", 0, "a word"},
		{"Sun, 22 Nov 2026 11:12:11 GMT", "", time.Minute, "a date"},
		{"Sun, 22 Nov 2026 11:10:11 GMT", "", 0, "a date that has passed"},
		{"Sun, 22 Nov 2026 12:12:11 GMT", "Sun, 22 Nov 2026 12:11:41 GMT", 30 * time.Second, "by the clock of the one who answers"},
		{"Sun, 22 Nov 2026 11:12:11 GMT", "yesterday", time.Minute, "its clock can't be read"},
	} {
		require.Equal(t, row.want, exchange.RetryAfter(header(row.retryAfter, row.date), now, time.Hour), row.why)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	require.Zero(t, exchange.Spread(0))
	require.Zero(t, exchange.Spread(-time.Second))
	for range 1000 {
		d := exchange.Spread(time.Minute)
		require.GreaterOrEqual(t, d, time.Minute)
		require.LessOrEqual(t, d, 66*time.Second)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Sun, 22 Nov 2026 11:12:11 GMT", "Sun, 22 Nov 2026 11:11:11 GMT")
	f.Add("9223372036854775807", "x")
	f.Fuzz(func(t *testing.T, retryAfter, date string) {
		wait := exchange.RetryAfter(header(retryAfter, date), time.Unix(1_795_000_000, 0), time.Hour)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, time.Hour)
	})
}
