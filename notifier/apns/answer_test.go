package apns_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// Every answer that Apple documents, and those that were met.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const (
		rejected     = notifier.ReasonRejected
		unauthorized = notifier.ReasonUnauthorized
		unavailable  = notifier.ReasonUnavailable
	)
	for _, row := range []struct {
		status int
		said   string
		want   notifier.Status
		reason notifier.Reason
		pause  notifier.Pause
	}{
		{400, "BadDeviceToken", notifier.Gone, notifier.ReasonMismatched, 0},
		{400, "DeviceTokenNotForTopic", notifier.Gone, notifier.ReasonMismatched, 0},
		{400, "BadCollapseId", notifier.Permanent, rejected, 0},
		{400, "BadExpirationDate", notifier.Permanent, rejected, 0},
		{400, "BadMessageId", notifier.Permanent, rejected, 0},
		{400, "BadPriority", notifier.Permanent, rejected, 0},
		{400, "DuplicateHeaders", notifier.Permanent, rejected, 0},
		{400, "InvalidPushType", notifier.Permanent, rejected, 0},
		{400, "PayloadEmpty", notifier.Permanent, rejected, 0},
		{400, "MissingDeviceToken", notifier.Permanent, rejected, 0},
		{400, "BadTopic", notifier.Refused, unauthorized, 0},
		{400, "MissingTopic", notifier.Refused, unauthorized, 0},
		{400, "TopicDisallowed", notifier.Refused, unauthorized, 0},
		{400, "IdleTimeout", notifier.Retry, unavailable, 0},
		{400, "Unheard", notifier.Permanent, rejected, 0},
		{403, "BadCertificate", notifier.Refused, unauthorized, 0},
		{403, "BadCertificateEnvironment", notifier.Refused, unauthorized, 0},
		{403, "Forbidden", notifier.Refused, unauthorized, 0},
		{403, "ExpiredProviderToken", notifier.SlowDown, unavailable, notifier.PauseMessage},
		{403, "InvalidProviderToken", notifier.Refused, unauthorized, 0},
		{403, "MissingProviderToken", notifier.Refused, unauthorized, 0},
		{403, "BadEnvironmentKeyIdInToken", notifier.Refused, unauthorized, 0},
		{403, "BadEnvironmentKeyInToken", notifier.Refused, unauthorized, 0},
		{403, "UnrelatedKeyIdInToken", notifier.Refused, unauthorized, 0},
		{403, "Unheard", notifier.Refused, unauthorized, 0},
		{404, "BadPath", notifier.Permanent, rejected, 0},
		{404, "Unheard", notifier.Permanent, rejected, 0},
		{405, "MethodNotAllowed", notifier.Permanent, rejected, 0},
		{410, "Unregistered", notifier.Gone, notifier.ReasonGone, 0},
		{410, "ExpiredToken", notifier.Gone, notifier.ReasonGone, 0},
		{410, "Unheard", notifier.Permanent, rejected, 0}, // only Apple's word removes a device
		{413, "PayloadTooLarge", notifier.Permanent, notifier.ReasonTooLarge, 0},
		{413, "Unheard", notifier.Permanent, notifier.ReasonTooLarge, 0},
		{429, "TooManyProviderTokenUpdates", notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseMessage},
		{429, "TooManyRequests", notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseDevice},
		{429, "Unheard", notifier.SlowDown, notifier.ReasonRateLimited, notifier.PauseDevice},
		{500, "InternalServerError", notifier.Retry, unavailable, 0},
		{500, "Unheard", notifier.Retry, unavailable, 0},
		{503, "ServiceUnavailable", notifier.SlowDown, unavailable, notifier.PauseChannel},
		{503, "Shutdown", notifier.Retry, unavailable, 0},
		{503, "Unheard", notifier.SlowDown, unavailable, notifier.PauseChannel},
		{418, "Unheard", notifier.Permanent, rejected, 0},
		{502, "Unheard", notifier.Retry, unavailable, 0},
	} {
		t.Run(row.said+" "+http.StatusText(row.status), func(t *testing.T) {
			t.Parallel()
			a, s := openBoth(t)
			s.AnswerWith(func() notifiertest.APNsAnswer { return notifiertest.APNsAnswer{Status: row.status, Reason: row.said} })
			n := order(device())
			result := send(t, a, n)
			require.Equal(t, row.want, result.Status, "%v", result.Err)
			require.Equal(t, row.reason, result.Reason)
			require.Equal(t, row.pause, result.Pause)
			require.Zero(t, result.GoneSince)
			if row.said == "Unheard" {
				require.NotContains(t, result.Err.Error(), row.said, "it may be anything")
			} else {
				require.ErrorContains(t, result.Err, row.said)
			}
			require.Empty(t, s.Pushes())
		})
	}
}

// A limit may be that of a device, until three devices in a row meet it.
func TestTooManyRequestsForThreeDevices(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	refuse := func() notifiertest.APNsAnswer { return notifiertest.APNsAnswer{Status: 429, Reason: "TooManyRequests"} }
	s.AnswerWith(refuse)
	busy := func(n int) notifier.Result {
		to := *device()
		to.Address = fmt.Sprintf("%064x", n)
		return send(t, a, order(&to))
	}
	for range 2 {
		for _, n := range []int{1, 2, 1} {
			r := busy(n)
			require.Equal(t, notifier.PauseDevice, r.Pause)
			require.True(t, r.Unclear)
		}
		s.AnswerWith(nil)
		require.Equal(t, notifier.Delivered, busy(3).Status)
		s.AnswerWith(refuse)
	}
	for n, want := range []notifier.Pause{notifier.PauseDevice, notifier.PauseDevice, notifier.PauseChannel, notifier.PauseChannel} {
		r := busy(n + 1)
		require.Equal(t, want, r.Pause)
		require.Equal(t, want == notifier.PauseDevice, r.Unclear)
	}
}

// What Apple says of a topic that the message chose is the message's fault.
func TestAnswersAboutATopicThatTheMessageChose(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 100)
	a := open(t, s, apns.Config{Topics: map[string]string{"driver": "com.example.driver"}})
	for said, want := range map[string]notifier.Reason{
		"BadDeviceToken": notifier.ReasonMismatched, "DeviceTokenNotForTopic": notifier.ReasonMismatched,
		"BadTopic": notifier.ReasonRejected, "MissingTopic": notifier.ReasonRejected, "TopicDisallowed": notifier.ReasonRejected,
		"Unregistered": notifier.ReasonGone, // for this topic it once was
	} {
		s.AnswerWith(func() notifiertest.APNsAnswer {
			return notifiertest.APNsAnswer{Status: http.StatusBadRequest, Reason: said}
		})
		n := order(device())
		n.Override = json.RawMessage(`{"push_type": "voip"}`)
		result := send(t, a, n)
		require.Equal(t, want == notifier.ReasonGone, result.Status == notifier.Gone, said)
		require.Equal(t, want != notifier.ReasonGone, result.Status == notifier.Permanent, said)
		require.Equal(t, want, result.Reason, said)
	}
	for _, override := range []string{`{"topic": "com.example.driver"}`, `{"push_type": "voip", "topic": "com.example.driver.voip"}`} {
		n := order(device())
		n.Override = json.RawMessage(override)
		result := send(t, a, n)
		require.Equal(t, notifier.Permanent, result.Status, override)
		require.ErrorContains(t, result.Err, "TopicDisallowed") // the server knows one app
	}
}

func TestADeviceThatIsGone(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	n := order(device())
	since := time.UnixMilli(1_795_345_871_123).UTC()
	s.Unregister(n.Device.Address, since)
	result := send(t, a, n)
	require.Equal(t, notifier.Gone, result.Status)
	require.Equal(t, since, result.GoneSince)
	require.EqualError(t, result.Err, "Apple's server answered with HTTP status 410, Unregistered")
	delivered(t, a, order(device()))
}

func TestWaits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status         int
		said, after    string
		least, longest time.Duration
	}{
		{503, "ServiceUnavailable", "120", 120 * time.Second, 132 * time.Second},
		{503, "ServiceUnavailable", "86400", time.Hour, 66 * time.Minute},
		{503, "ServiceUnavailable", "", 10 * time.Second, 11 * time.Second},
		{429, "TooManyRequests", "30", 30 * time.Second, 33 * time.Second},
		{429, "TooManyRequests", "", time.Minute, 66 * time.Second},
		{429, "TooManyProviderTokenUpdates", "", time.Minute, 66 * time.Second},
		{500, "InternalServerError", "20", 20 * time.Second, 22 * time.Second},
		{500, "InternalServerError", "", 0, 0},
	} {
		r := apns.Judge(apns.Answered(row.status, http.Header{"Retry-After": {row.after}}, `{"reason": "`+row.said+`"}`), time.Now())
		require.NoError(t, r.Validate())
		require.GreaterOrEqual(t, r.RetryAfter, row.least, "%+v", row)
		require.LessOrEqual(t, r.RetryAfter, row.longest, "%+v", row)
	}
}

// A server that does not say how long it is busy is asked more and more seldom.
func TestABusyServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := firstMinute() // one provider token all the time
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	busy := notifiertest.APNsAnswer{Status: http.StatusServiceUnavailable, Reason: "ServiceUnavailable"}
	for _, seconds := range []int{10, 20, 40, 80, 160, 320, 600, 600} {
		want := time.Duration(seconds) * time.Second
		s.Script(busy, busy)
		for range 2 { // together
			result := send(t, a, order(device()))
			require.GreaterOrEqual(t, result.RetryAfter, want)
			require.LessOrEqual(t, result.RetryAfter, want+want/10)
		}
		now = now.Add(want)
	}
	delivered(t, a, order(device()))
	s.Script(busy)
	require.Less(t, send(t, a, order(device())).RetryAfter, 12*time.Second)
}

// Apple's server may send anything.
func FuzzAnswer(f *testing.F) {
	f.Add(403, "120", `{"reason":"ExpiredProviderToken"}`)
	f.Add(410, "", `{"reason":"Unregistered","timestamp":1795345871123}`)
	f.Add(410, "", `{"reason":"ExpiredToken","timestamp":-1e99}`)
	f.Add(410, "", `{"reason":"Unregistered","timestamp":"canary"}`)
	f.Add(503, "-1", `{"reason":{}}`)
	f.Add(429, "Sun, 22 Nov 2026 11:12:41 GMT", `{"reason":"canary"}`)
	f.Add(99, "1e9", `[`)
	f.Add(200, "", "\xff")
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		r := apns.Judge(apns.Answered(status, http.Header{"Retry-After": {after}, "Apns-Id": {body}}, body), time.Unix(1_795_345_871, 0))
		require.NoError(t, r.Validate())
		require.LessOrEqual(t, r.RetryAfter, apns.MaxRetryAfter+apns.MaxRetryAfter/10)
		require.LessOrEqual(t, len(r.ProviderID), 64)
		if r.Err != nil {
			require.NotContains(t, r.Err.Error(), "canary")
			require.Less(t, len(r.Err.Error()), 200)
		}
		if r.Status == notifier.Gone {
			require.NotEmpty(t, body, "only Apple's word removes a device")
		}
	})
}
