package fcm_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// said returns the body of an answer with details.
func said(status, message string, details ...string) string {
	return `{"error": {"code": 400, "message": "` + message + `", "status": "` + status + `", "details": [` + strings.Join(details, ",") + `]}}`
}

func fcmError(code string) string {
	return `{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "` + code + `"}`
}

func badField(field string) string {
	return `{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "` + field + `", "description": "secret"}]}`
}

func quota(subject, description string) string {
	return `{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"subject": "` + subject + `", "description": "` + description + `"}]}`
}

const notAToken = "The registration token is not a valid FCM registration token"

// Every answer that FCM documents, from a server.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const (
		message, device, channel = notifier.PauseMessage, notifier.PauseDevice, notifier.PauseChannel
	)
	s := server(t, time.Now)
	for _, row := range []struct {
		name   string
		status int
		body   string
		want   notifier.Status
		reason notifier.Reason
		pause  notifier.Pause
		err    string
	}{
		{
			"a field is wrong", 400, said("INVALID_ARGUMENT", "secret", badField("message.data[0].value")),
			notifier.Permanent, notifier.ReasonRejected, 0, ", INVALID_ARGUMENT, field message.data",
		},
		{
			"several fields are wrong", 400, said("INVALID_ARGUMENT", "", badField("message.android.ttl"), badField("message.token")),
			notifier.Permanent, notifier.ReasonRejected, 0, ", INVALID_ARGUMENT, field message.android.ttl, field message.token",
		},
		{
			"a field of the message's own", 400, said("INVALID_ARGUMENT", "", badField("message.apns.payload.secret")),
			notifier.Permanent, notifier.ReasonRejected, 0, ", INVALID_ARGUMENT, field message.apns.payload",
		},
		{
			"too big", 400, said("INVALID_ARGUMENT", "Message is too big", fcmError("INVALID_ARGUMENT")),
			notifier.Permanent, notifier.ReasonTooLarge, 0, ", INVALID_ARGUMENT",
		},
		{
			"invalid, and no more", 400, said("INVALID_ARGUMENT", "Request contains an invalid argument.", fcmError("INVALID_ARGUMENT")),
			notifier.Permanent, notifier.ReasonRejected, 0, ", INVALID_ARGUMENT",
		},
		{
			"the platform's key", 401, said("UNAUTHENTICATED", "secret", fcmError("THIRD_PARTY_AUTH_ERROR")),
			notifier.SlowDown, notifier.ReasonUnavailable, device, ", THIRD_PARTY_AUTH_ERROR: the project's APNs key or Web Push key is missing or wrong",
		},
		{"our token", 401, said("UNAUTHENTICATED", ""), notifier.Refused, notifier.ReasonUnauthorized, 0, ", UNAUTHENTICATED"},
		{
			"another project's device", 403, said("PERMISSION_DENIED", "", fcmError("SENDER_ID_MISMATCH")),
			notifier.Gone, notifier.ReasonMismatched, 0, ", SENDER_ID_MISMATCH",
		},
		{"no role", 403, said("PERMISSION_DENIED", ""), notifier.Refused, notifier.ReasonUnauthorized, 0, ", PERMISSION_DENIED"},
		{"unregistered", 404, said("NOT_FOUND", "", fcmError("UNREGISTERED")), notifier.Gone, notifier.ReasonGone, 0, ", UNREGISTERED"},
		{"a wrong project", 404, said("NOT_FOUND", ""), notifier.Refused, notifier.ReasonMisaddressed, 0, ", NOT_FOUND"},
		{
			"the project's quota", 429, said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"), quota("project:secret-device", "Message rate exceeded")),
			notifier.SlowDown, notifier.ReasonRateLimited, channel, ", QUOTA_EXCEEDED",
		},
		{
			"a device's quota", 429, said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"), quota("device:secret", "")),
			notifier.SlowDown, notifier.ReasonRateLimited, device, ", QUOTA_EXCEEDED",
		},
		{
			"a device's quota in words", 429, said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"), quota("project:secret", "Device message rate exceeded")),
			notifier.SlowDown, notifier.ReasonRateLimited, device, ", QUOTA_EXCEEDED",
		},
		{
			"a topic's quota", 429, said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"), quota("topic:secret", "Topic quota exceeded.")),
			notifier.SlowDown, notifier.ReasonRateLimited, message, ", QUOTA_EXCEEDED",
		},
		{
			"two quotas", 429, said("RESOURCE_EXHAUSTED", "", quota("device:secret", ""), quota("project:secret", "")),
			notifier.SlowDown, notifier.ReasonRateLimited, channel, ", RESOURCE_EXHAUSTED",
		},
		{"an unknown quota", 429, said("RESOURCE_EXHAUSTED", ""), notifier.SlowDown, notifier.ReasonRateLimited, device, ", RESOURCE_EXHAUSTED"},
		{
			"a quota of Google's", 429, said("RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Send requests' of consumer 'secret'."),
			notifier.SlowDown, notifier.ReasonRateLimited, channel, ", RESOURCE_EXHAUSTED",
		},
		{"internal", 500, said("INTERNAL", "", fcmError("INTERNAL")), notifier.Retry, notifier.ReasonUnavailable, 0, ", INTERNAL"},
		{"overloaded", 503, said("UNAVAILABLE", "", fcmError("UNAVAILABLE")), notifier.SlowDown, notifier.ReasonUnavailable, channel, ", UNAVAILABLE"},

		// UNSPECIFIED_ERROR and what is unknown: by status.
		{"unspecified", 400, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Permanent, notifier.ReasonRejected, 0, ", UNSPECIFIED_ERROR"},
		{"unspecified", 401, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Refused, notifier.ReasonUnauthorized, 0, ", UNSPECIFIED_ERROR"},
		{"unspecified", 403, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Refused, notifier.ReasonUnauthorized, 0, ", UNSPECIFIED_ERROR"},
		{"unspecified", 404, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Refused, notifier.ReasonMisaddressed, 0, ", UNSPECIFIED_ERROR"},
		{"unspecified", 429, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.SlowDown, notifier.ReasonRateLimited, device, ", UNSPECIFIED_ERROR"},
		{"unspecified", 500, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Retry, notifier.ReasonUnavailable, 0, ", UNSPECIFIED_ERROR"},
		{"unspecified", 503, said("", "", fcmError("UNSPECIFIED_ERROR")), notifier.Retry, notifier.ReasonUnavailable, 0, ", UNSPECIFIED_ERROR"},
		{"a code of another status", 403, said("", "", fcmError("UNREGISTERED")), notifier.Refused, notifier.ReasonUnauthorized, 0, ", UNREGISTERED"},
		{"a code in another type", 404, said("", "", strings.Replace(fcmError("UNREGISTERED"), "FcmError", "Other", 1)), notifier.Refused, notifier.ReasonMisaddressed, 0, ""},
		{"a gateway", 502, "<!DOCTYPE html><title>secret</title>", notifier.Retry, notifier.ReasonUnavailable, 0, ""},
		{"a teapot", 418, said("SECRET", "secret", fcmError("SECRET")), notifier.Permanent, notifier.ReasonRejected, 0, ""},
	} {
		f := open(t, s, fcm.Config{})
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
			return notifiertest.Answer{Status: row.status, Body: row.body}
		})
		r := push(t, f, order(phone))
		require.Equal(t, row.want, r.Status, "%s: %v", row.name, r.Err)
		require.Equal(t, row.reason, r.Reason, row.name)
		require.Equal(t, row.pause, r.Pause, row.name)
		require.EqualError(t, r.Err, "FCM answered with HTTP status "+strconv.Itoa(row.status)+row.err, row.name)
	}
}

// Too many for one device may be that device's. For three without a success between it is all.
func TestAQuotaOfNobodyKnowsWhom(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	busy := func(to string) notifier.Pause {
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
			return notifiertest.Answer{Status: 429, Body: said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"))}
		})
		r := push(t, f, order(to))
		require.Equal(t, r.Pause == notifier.PauseDevice, r.Unclear)
		return r.Pause
	}
	for range 2 {
		for _, to := range []string{"one", "two", "one", "two"} {
			require.Equal(t, notifier.PauseDevice, busy(to))
		}
		s.AnswerWith(nil)
		require.Equal(t, notifier.Delivered, push(t, f, order("four")).Status)
	}
	for _, to := range []string{"one", "two"} {
		require.Equal(t, notifier.PauseDevice, busy(to))
	}
	require.Equal(t, notifier.PauseChannel, busy("three"))
	require.Equal(t, notifier.PauseChannel, busy("one"))
}

// A message that has FCM look for something else than its device loses no device, and lets it not
// wait.
func TestAMessageThatAimsElsewhere(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	gone := notifiertest.Answer{Status: 404, Body: said("NOT_FOUND", "", fcmError("UNREGISTERED"))}
	platform := notifiertest.Answer{Status: 401, Body: said("UNAUTHENTICATED", "", fcmError("THIRD_PARTY_AUTH_ERROR"))}
	for override, elsewhere := range map[string]bool{
		`{}`: false, `{"apns": {"headers": {"apns-push-type": "background"}}}`: false,
		`{"apns": {"headers": {"Apns-Push-Type": "voip"}}}`: true,
		`{"apns": {"live_activity_token": "x"}}`:            true, `{"apns": {"liveActivityToken": "x"}}`: true,
		`{"android": {"restricted_package_name": "x"}}`: true, `{"android": {"restrictedPackageName": "x"}}`: true,
	} {
		n := order(phone)
		n.Override = json.RawMessage(override)
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return gone })
		require.Equal(t, map[bool]notifier.Status{false: notifier.Gone, true: notifier.Permanent}[elsewhere], push(t, f, n).Status, override)
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return platform })
		require.Equal(t, map[bool]notifier.Status{false: notifier.SlowDown, true: notifier.Retry}[elsewhere], push(t, f, n).Status, override)
	}
}

// A malformed token is gone only if the message is fine.
func TestAMalformedToken(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	malformed := said("INVALID_ARGUMENT", notAToken, fcmError("INVALID_ARGUMENT"))
	for _, row := range []struct {
		name    string
		first   string
		checked notifiertest.Answer
		want    notifier.Status
		reason  notifier.Reason
	}{
		{"the message is fine", malformed, notifiertest.Answer{}, notifier.Gone, notifier.ReasonGone},
		{"the message is fine, and the field is named", said("INVALID_ARGUMENT", "Request contains an invalid argument.",
			fcmError("INVALID_ARGUMENT"), badField("message.token")), notifiertest.Answer{}, notifier.Gone, notifier.ReasonGone},
		{"the message is not", malformed, notifiertest.Answer{Status: 400, Body: said("INVALID_ARGUMENT", "")}, notifier.Permanent, notifier.ReasonRejected},
		{"nobody knows", malformed, notifiertest.Answer{Status: 500}, notifier.Retry, notifier.ReasonUnavailable},
		{"too many", malformed, notifiertest.Answer{Status: 429}, notifier.SlowDown, notifier.ReasonRateLimited},
		{"refused meanwhile", malformed, notifiertest.Answer{Status: 403}, notifier.Refused, notifier.ReasonUnauthorized},
		{"no answer", malformed, notifiertest.Answer{Delay: time.Hour}, notifier.Retry, notifier.ReasonUnreachable},
	} {
		before := len(s.Messages())
		s.AnswerWith(func(m notifiertest.FCMMessage) notifiertest.Answer {
			if m.ValidateOnly {
				return row.checked
			}
			return notifiertest.Answer{Status: 400, Body: row.first}
		})
		timeout := time.Minute
		if row.checked.Delay > 0 {
			timeout = 3 * time.Second // the first answer comes within it
		}
		r := push(t, open(t, s, fcm.Config{Timeout: timeout}), order(phone))
		require.Equal(t, row.want, r.Status, "%s: %v", row.name, r.Err)
		require.Equal(t, row.reason, r.Reason, row.name)
		sent := s.Messages()[before:]
		require.Len(t, sent, 2, row.name)
		require.True(t, strings.HasPrefix(sent[1].Target, "topic "))
		require.Contains(t, string(sent[1].Message), `"title":"Hello"`)
		require.NotContains(t, string(sent[1].Message), phone)
	}
}

func TestWaitsThatFCMAsksFor(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	for _, row := range []struct {
		status         int
		after, body    string
		want           notifier.Status
		least, longest time.Duration
	}{
		{429, "30", said("RESOURCE_EXHAUSTED", ""), notifier.SlowDown, 30 * time.Second, 33 * time.Second},
		{429, "", said("RESOURCE_EXHAUSTED", ""), notifier.SlowDown, time.Minute, 66 * time.Second},
		{429, "86400", "", notifier.SlowDown, time.Hour, 66 * time.Minute},
		{503, "", said("UNAVAILABLE", ""), notifier.SlowDown, 10 * time.Second, 11 * time.Second},
		{503, "40", "", notifier.SlowDown, 40 * time.Second, 44 * time.Second},
		{503, "", "", notifier.Retry, 0, 0},
		{500, "", said("INTERNAL", ""), notifier.Retry, 10 * time.Second, 11 * time.Second},
		{500, "20", said("INTERNAL", ""), notifier.Retry, 20 * time.Second, 22 * time.Second},
		{502, "", "", notifier.Retry, 0, 0},
		{401, "", said("", "", fcmError("THIRD_PARTY_AUTH_ERROR")), notifier.SlowDown, time.Minute, 66 * time.Second},
	} {
		f := open(t, s, fcm.Config{}) // its own backoffs
		r := f.Judge(row.status, http.Header{"Retry-After": {row.after}}, row.body)
		require.Equal(t, row.want, r.Status, "%+v", row)
		require.GreaterOrEqual(t, r.RetryAfter, row.least, "%+v", row)
		require.LessOrEqual(t, r.RetryAfter, row.longest, "%+v", row)
	}
}

// Pauses double while one follows the other, up to an hour.
func TestPausesDouble(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := open(t, server(t, c.Now), fcm.Config{Now: c.Now})
	project := said("RESOURCE_EXHAUSTED", "", quota("project:shop", ""))
	paused := func(body string) time.Duration {
		t.Helper()
		r := f.Judge(429, nil, body)
		require.Equal(t, notifier.SlowDown, r.Status)
		return r.RetryAfter
	}
	want := time.Minute
	for range 8 {
		first := paused(project)
		require.GreaterOrEqual(t, first, want)
		require.LessOrEqual(t, first, want+want/10)
		require.LessOrEqual(t, paused(project), want+want/10, "it was on its way already")
		c.Add(first)
		want = min(2*want, time.Hour)
	}
	require.LessOrEqual(t, paused(said("", "", quota("device:x", ""))), 66*time.Second, "a device has its own")
	c.Add(3 * time.Hour)
	require.LessOrEqual(t, paused(project), 66*time.Second, "it went well meanwhile")
}

// FCM may send anything.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "", `{"name": "projects/p/messages/0:1500415314455276%31bd1c9631bd1c96"}`)
	f.Add(400, "", said("INVALID_ARGUMENT", notAToken, fcmError("INVALID_ARGUMENT")))
	f.Add(400, "", said("INVALID_ARGUMENT", "canary", badField("message.data[0].value"), badField("message.canary.x")))
	f.Add(401, "", said("UNAUTHENTICATED", "", fcmError("THIRD_PARTY_AUTH_ERROR")))
	f.Add(429, "Sun, 22 Nov 2026 11:12:41 GMT", said("RESOURCE_EXHAUSTED", "", fcmError("QUOTA_EXCEEDED"), quota("topic:canary", "Topic quota exceeded.")))
	f.Add(404, "-1", said("NOT_FOUND", "", fcmError("UNREGISTERED")))
	f.Add(503, "1e9", `{"error": {"details": [1, null, [], {"@type": 3}], "status": {}}}`)
	f.Add(400, "", `{"error_description": "canary", "error": "invalid_grant"}`)
	f.Add(200, "", `{"access_token": "canary", "expires_in": -1}`)
	f.Add(99, "", "\xff")
	s, err := notifiertest.NewFCMServer(time.Now)
	require.NoError(f, err)
	f.Cleanup(s.Close)
	credentials, err := s.Credentials()
	require.NoError(f, err)
	channel, err := fcm.New(fcm.Config{Credentials: credentials, Now: func() time.Time { return time.Unix(1_795_345_871, 0) }})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		token, ofToken := channel.JudgeToken(status, http.Header{"Retry-After": {after}}, body)
		require.Equal(t, token != "", ofToken.Status == notifier.Delivered)
		for _, r := range []notifier.Result{channel.Judge(status, http.Header{"Retry-After": {after}}, body), ofToken} {
			require.NoError(t, r.Validate())
			require.LessOrEqual(t, r.RetryAfter, fcm.MaxRetryAfter+fcm.MaxRetryAfter/10)
			if r.Err != nil {
				require.NotContains(t, r.Err.Error(), "canary")
				require.Less(t, len(r.Err.Error()), 400)
			}
		}
	})
}
