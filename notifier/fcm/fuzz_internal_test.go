package fcm

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// FuzzAnswer holds that any answer has a meaning, and that an error shows nothing of it.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{"name":"projects/p/messages/1"}`, "", 0)
	f.Add(404, `{"error":{"details":[{"@type":"x/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}`, "", 0)
	f.Add(429, `{"error":{"details":[{"@type":"x/google.rpc.QuotaFailure","violations":[{"subject":"device:x"}]}]}}`, "120", 3)
	f.Add(400, `{"error":{"message":"The registration token is not valid","details":[]}}`, "-1", 60)
	f.Add(503, `{"error":[]}`, "soon", 1<<30)
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string, waits int) {
		a := exchange.Answer{Status: 200 + abs(status)%400, Header: http.Header{"Retry-After": {retryAfter}}, Body: []byte(body)}
		result, _ := judge(a, time.Unix(1_795_000_000, 0), abs(waits))
		require.NoError(t, result.Validate())
		require.LessOrEqual(t, result.RetryAfter, MaxRetryAfter+MaxRetryAfter/10)
		if result.Err != nil {
			require.Less(t, len(result.Err.Error()), 300)
		}
	})
}

// FuzzTokenAnswer is the same for answers of the token server.
func FuzzTokenAnswer(f *testing.F) {
	f.Add(200, `{"access_token":"a","expires_in":3599}`)
	f.Add(200, `{"access_token":"a","expires_in":-9223372036854775808}`)
	f.Add(400, `{"error":"invalid_grant"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		now := time.Unix(1_795_000_000, 0)
		tokens := &tokens{now: func() time.Time { return now }}
		made, result := tokens.read(exchange.Answer{Status: 200 + abs(status)%400, Header: http.Header{}, Body: []byte(body)})
		require.NoError(t, result.Validate())
		if made.text != "" {
			require.True(t, made.until.After(now))
			require.LessOrEqual(t, made.until.Sub(now), 24*time.Hour)
		}
	})
}

func abs(n int) int {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
