package fcm_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

const fcmError = `{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}`

// says returns the body of an answer with an error code of FCM's own, and more details.
func says(status, code string, details ...string) string {
	list := fmt.Sprintf(fcmError, code)
	for _, d := range details {
		list += "," + d
	}
	return fmt.Sprintf(`{"error":{"status":%q,"message":"canary-token:APA91b is wrong","details":[%s]}}`, status, list)
}

// plain returns one with the generic status alone.
func plain(status string) string { return fmt.Sprintf(`{"error":{"status":%q}}`, status) }

func quota(subject string) string {
	return fmt.Sprintf(`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":%q,"description":"rate exceeded"}]}`, subject)
}

// row is an answer and what it means.
type row struct {
	name   string
	answer notifiertest.Answer
	status notifier.Status
	reason notifier.Reason
	pause  notifier.Pause
	least  time.Duration // of RetryAfter; at most a tenth more
}

func rows() []row {
	const badField = `{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.android.ttl"}]}`
	after := http.Header{"Retry-After": {"120"}}
	answer := func(status int, body string) notifiertest.Answer {
		return notifiertest.Answer{Status: status, Body: body}
	}
	return []row{
		{name: "200", answer: answer(200, ""), status: notifier.Delivered},
		{name: "400 with a field", answer: answer(400, says("INVALID_ARGUMENT", "INVALID_ARGUMENT", badField)), status: notifier.Permanent, reason: notifier.ReasonRejected},
		{name: "400 of nothing known", answer: answer(400, "<html>"), status: notifier.Permanent, reason: notifier.ReasonRejected},
		{
			name: "401 THIRD_PARTY_AUTH_ERROR", answer: answer(401, says("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")),
			status: notifier.SlowDown, reason: notifier.ReasonUnavailable, pause: notifier.PauseDevice, least: 10 * time.Minute,
		},
		{name: "401 of our token", answer: answer(401, plain("UNAUTHENTICATED")), status: notifier.Refused, reason: notifier.ReasonUnauthorized},
		{name: "403 SENDER_ID_MISMATCH", answer: answer(403, says("PERMISSION_DENIED", "SENDER_ID_MISMATCH")), status: notifier.Gone, reason: notifier.ReasonMismatched},
		{name: "403 without FcmError", answer: answer(403, plain("PERMISSION_DENIED")), status: notifier.Refused, reason: notifier.ReasonUnauthorized},
		{name: "404 UNREGISTERED", answer: answer(404, says("NOT_FOUND", "UNREGISTERED")), status: notifier.Gone, reason: notifier.ReasonGone},
		{name: "404 without FcmError", answer: answer(404, plain("NOT_FOUND")), status: notifier.Refused, reason: notifier.ReasonMisaddressed},
		{name: "404 of nothing known", answer: answer(404, "UNREGISTERED"), status: notifier.Refused, reason: notifier.ReasonMisaddressed},
		{
			name: "429 of the project", answer: answer(429, says("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quota("project:demo"))),
			status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseChannel, least: time.Minute,
		},
		{
			name: "429 of the device", answer: answer(429, says("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quota("device:canary"))),
			status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseDevice, least: time.Minute,
		},
		{
			name: "429 of a topic", answer: answer(429, says("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", quota("topic:news"))),
			status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseMessage, least: time.Minute,
		},
		{
			name: "429 with Retry-After", answer: notifiertest.Answer{Status: 429, Body: says("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), Header: after},
			status: notifier.SlowDown, reason: notifier.ReasonRateLimited, pause: notifier.PauseChannel, least: 2 * time.Minute,
		},
		{name: "500 INTERNAL", answer: answer(500, says("INTERNAL", "INTERNAL")), status: notifier.Retry, reason: notifier.ReasonUnavailable, least: 10 * time.Second},
		{
			name: "503 UNAVAILABLE", answer: answer(503, says("UNAVAILABLE", "UNAVAILABLE")),
			status: notifier.SlowDown, reason: notifier.ReasonUnavailable, pause: notifier.PauseChannel, least: 10 * time.Second,
		},
		{
			name: "503 with Retry-After", answer: notifiertest.Answer{Status: 503, Body: plain("UNAVAILABLE"), Header: after},
			status: notifier.SlowDown, reason: notifier.ReasonUnavailable, pause: notifier.PauseChannel, least: 2 * time.Minute,
		},
		{name: "400 UNSPECIFIED_ERROR", answer: answer(400, says("X", "UNSPECIFIED_ERROR")), status: notifier.Permanent, reason: notifier.ReasonRejected},
		{name: "500 UNSPECIFIED_ERROR", answer: answer(500, says("X", "UNSPECIFIED_ERROR")), status: notifier.Retry, reason: notifier.ReasonUnavailable, least: 10 * time.Second},
		{name: "301", answer: answer(301, ""), status: notifier.Permanent, reason: notifier.ReasonRedirected},
		{name: "408", answer: answer(408, ""), status: notifier.Retry, reason: notifier.ReasonUnavailable, least: 10 * time.Second},
		{name: "413", answer: answer(413, ""), status: notifier.Permanent, reason: notifier.ReasonTooLarge},
		{name: "418", answer: answer(418, ""), status: notifier.Permanent, reason: notifier.ReasonRejected},
		{name: "502", answer: answer(502, "<html>"), status: notifier.Retry, reason: notifier.ReasonUnavailable, least: 10 * time.Second},
	}
}

func TestEveryAnswer(t *testing.T) {
	t.Parallel()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, time.Now)
			s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return r.answer })
			result := open(t, s, fcm.Config{}).Notify(t.Context(), notification(canaryToken))
			require.NoError(t, result.Validate())
			require.Equal(t, r.status, result.Status, "%v", result.Err)
			require.Equal(t, r.reason, result.Reason)
			require.Equal(t, r.pause, result.Pause)
			require.GreaterOrEqual(t, result.RetryAfter, r.least)
			require.LessOrEqual(t, result.RetryAfter, r.least+r.least/10)
			if result.Err != nil {
				require.NotContains(t, result.Err.Error(), "canary")
			}
		})
	}
}

func TestAFieldThatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"message.android.ttl":      "FCM answered with HTTP status 400, INVALID_ARGUMENT: its android.ttl is wrong",
		"message.data[0].canary":   "FCM answered with HTTP status 400, INVALID_ARGUMENT: its data is wrong",
		"message.token canary \n?": "FCM answered with HTTP status 400, INVALID_ARGUMENT",
	} {
		s := newServer(t, time.Now)
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
			detail := fmt.Sprintf(`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":%q}]}`, field)
			return notifiertest.Answer{Status: 400, Body: says("INVALID_ARGUMENT", "INVALID_ARGUMENT", detail)}
		})
		require.EqualError(t, open(t, s, fcm.Config{}).Notify(t.Context(), notification("token-1")).Err, want)
	}
}

// "The registration token is not a valid FCM registration token" is also the answer to some
// messages that are wrong. The token is gone only if the message passes with another target.
func TestATokenIsGoneOnlyIfItsMessageIsFine(t *testing.T) {
	t.Parallel()
	const malformed = `{"error":{"status":"INVALID_ARGUMENT","message":"The registration token is not a valid FCM registration token",` +
		`"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"}]}}`
	for _, row := range []struct {
		validated notifiertest.Answer
		status    notifier.Status
		reason    notifier.Reason
	}{
		{notifiertest.Answer{Status: 200}, notifier.Gone, notifier.ReasonGone},
		{notifiertest.Answer{Status: 400, Body: plain("INVALID_ARGUMENT")}, notifier.Permanent, notifier.ReasonRejected},
		{notifiertest.Answer{Status: 403, Body: plain("PERMISSION_DENIED")}, notifier.Refused, notifier.ReasonUnauthorized},
		{notifiertest.Answer{Status: 500}, notifier.Retry, notifier.ReasonUnavailable},
	} {
		s := newServer(t, time.Now)
		s.AnswerWith(func(m notifiertest.FCMMessage) notifiertest.Answer {
			if m.ValidateOnly {
				require.Empty(t, m.Token)
				require.NotEmpty(t, m.Message["topic"])
				return row.validated
			}
			return notifiertest.Answer{Status: 400, Body: malformed}
		})
		result := open(t, s, fcm.Config{}).Notify(t.Context(), notification("token-1"))
		require.NoError(t, result.Validate())
		require.Equal(t, row.status, result.Status)
		require.Equal(t, row.reason, result.Reason)
	}
}

// Waits that Google does not give a length double, but not for each answer during one.
func TestWaitsDouble(t *testing.T) {
	t.Parallel()
	at := newClock()
	s := newServer(t, at.Now)
	s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return notifiertest.Answer{Status: 429} })
	channel := open(t, s, fcm.Config{Now: at.Now})
	waits := func(least time.Duration) {
		t.Helper()
		wait := channel.Notify(t.Context(), notification("token-1")).RetryAfter
		require.GreaterOrEqual(t, wait, least)
		require.LessOrEqual(t, wait, least+least/10)
	}
	waits(time.Minute)
	waits(2 * time.Minute)
	waits(2 * time.Minute) // the first wait is not over
	at.Add(3 * time.Minute)
	waits(2 * time.Minute)
	waits(4 * time.Minute)
	for range 10 {
		at.Add(2 * time.Hour)
		channel.Notify(t.Context(), notification("token-1"))
	}
	waits(time.Hour)
	s.AnswerWith(nil)
	at.Add(30 * time.Minute)
	delivered(t, channel)
	s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return notifiertest.Answer{Status: 429} })
	waits(time.Minute)
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	result := channel.Probe(t.Context())
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.Delivered, result.Status)
	require.True(t, s.Messages()[0].ValidateOnly, "nothing is sent")
	require.Empty(t, s.Messages()[0].Token)

	s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
		return notifiertest.Answer{Status: 403, Body: plain("PERMISSION_DENIED")}
	})
	require.Equal(t, notifier.Refused, channel.Probe(t.Context()).Status)

	elsewhere, err := s.CredentialsOf("other-project")
	require.NoError(t, err)
	other := open(t, s, fcm.Config{Credentials: elsewhere})
	require.Equal(t, notifier.ReasonMisaddressed, other.Probe(t.Context()).Reason)
	require.NotEqual(t, channel.Identity(), other.Identity())
	require.Equal(t, "demo-project push@demo-project.iam.gserviceaccount.com", channel.Identity())
}
