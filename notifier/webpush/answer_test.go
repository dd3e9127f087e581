package webpush_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

const (
	mozilla = "updates.push.services.mozilla.com"
	apple   = "web.push.apple.com"
	google  = "fcm.googleapis.com"
	windows = "wns2-par02p.notify.windows.com"
)

// Every answer that push services document.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const (
		anotherKey = "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions."
		rejected   = notifier.ReasonRejected
	)
	for _, row := range []struct {
		host   string
		status int
		body   string
		want   notifier.Status
		reason notifier.Reason
	}{
		{mozilla, 200, "", notifier.Delivered, ""},
		{mozilla, 201, "", notifier.Delivered, ""},
		{google, 202, "", notifier.Delivered, ""},
		{apple, 204, "", notifier.Delivered, ""},

		{google, 301, "", notifier.Permanent, notifier.ReasonRedirected},
		{google, 307, "", notifier.Permanent, notifier.ReasonRedirected},
		{mozilla, 308, `{"errno": 108}`, notifier.Permanent, notifier.ReasonRedirected},

		{apple, 400, `{"reason":"BadTtl"}`, notifier.Permanent, rejected},
		{apple, 400, `{"reason":"BadUrgency"}`, notifier.Permanent, rejected},
		{apple, 400, `{"reason":"BadWebPushTopic"}`, notifier.Permanent, rejected},
		{apple, 400, `{"reason":"BadWebPushRequest"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":101,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":108,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":110,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":111,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":112,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{mozilla, 400, `{"code":400,"errno":113,"error":"Bad Request"}`, notifier.Permanent, rejected},
		{google, 400, "", notifier.Permanent, rejected},

		{apple, 400, `{"reason":"VapidPkHashMismatch"}`, notifier.Gone, notifier.ReasonMismatched},
		{apple, 403, `{"reason":"VapidPkHashMismatch"}`, notifier.Gone, notifier.ReasonMismatched},
		{google, 400, "<H1>UnauthorizedRegistration</H1>", notifier.Gone, notifier.ReasonMismatched},
		{google, 403, anotherKey, notifier.Gone, notifier.ReasonMismatched},
		{google, 403, "the key in the authorization header does not correspond to the sender ID used to subscribe this user.", notifier.Gone, notifier.ReasonMismatched},
		{mozilla, 401, `{"code":401,"errno":109,"message":"VAPID public key mismatch"}`, notifier.Gone, notifier.ReasonMismatched},

		{mozilla, 401, `{"code":401,"errno":109,"error":"Unauthorized"}`, notifier.Refused, notifier.ReasonUnauthorized},
		{windows, 401, "", notifier.Refused, notifier.ReasonUnauthorized},
		{apple, 400, `{"reason":"BadJwtToken"}`, notifier.Refused, notifier.ReasonUnauthorized},
		{apple, 403, `{"reason":"BadJwtToken"}`, notifier.Refused, notifier.ReasonUnauthorized},
		{apple, 403, `{"reason":"BadVapidPublicKey"}`, notifier.Refused, notifier.ReasonUnauthorized},
		{apple, 403, `{"reason":"BadAuthorizationHeader"}`, notifier.Refused, notifier.ReasonUnauthorized},
		{google, 403, "", notifier.Refused, notifier.ReasonUnauthorized},

		{google, 403, "token has expired\n", notifier.SlowDown, notifier.ReasonUnavailable},
		{google, 403, "exp claim MUST NOT be more than 24 hours from the time of the request\n", notifier.SlowDown, notifier.ReasonUnavailable},
		{mozilla, 401, `{"code":401,"errno":109,"message":"Invalid VAPID expiry"}`, notifier.SlowDown, notifier.ReasonUnavailable},

		{mozilla, 404, `{"code":404,"errno":102,"error":"Not Found"}`, notifier.Gone, notifier.ReasonGone},
		{google, 404, "A valid push subscription endpoint should be specified", notifier.Gone, notifier.ReasonGone},
		{mozilla, 410, `{"code":410,"errno":103,"error":"Gone"}`, notifier.Gone, notifier.ReasonGone},
		{mozilla, 410, `{"code":410,"errno":105,"error":"Gone"}`, notifier.Gone, notifier.ReasonGone},
		{mozilla, 410, `{"code":410,"errno":106,"error":"Gone"}`, notifier.Gone, notifier.ReasonGone},
		{apple, 410, `{"reason":"Unregistered"}`, notifier.Gone, notifier.ReasonGone},
		{google, 410, "push subscription has unsubscribed or expired.", notifier.Gone, notifier.ReasonGone},

		{windows, 406, "", notifier.SlowDown, notifier.ReasonRateLimited},
		{google, 406, "", notifier.Permanent, rejected},
		{"notify.windows.com.example.com", 406, "", notifier.Permanent, rejected},

		{mozilla, 413, `{"code":413,"errno":104,"error":"Payload Too Large"}`, notifier.Permanent, notifier.ReasonTooLarge},
		{mozilla, 429, `{"code":429,"errno":201,"error":"Too Many Requests"}`, notifier.SlowDown, notifier.ReasonRateLimited},
		{apple, 429, `{"reason":"TooManyRequests"}`, notifier.SlowDown, notifier.ReasonRateLimited},

		{mozilla, 500, `{"code":500,"errno":900}`, notifier.Retry, notifier.ReasonUnavailable},
		{mozilla, 500, `{"code":500,"errno":901}`, notifier.Retry, notifier.ReasonUnavailable},
		{mozilla, 502, `{"code":502,"errno":902}`, notifier.Retry, notifier.ReasonUnavailable},
		{mozilla, 502, `{"code":502,"errno":903}`, notifier.Retry, notifier.ReasonUnavailable},
		{mozilla, 503, `{"code":503,"errno":201}`, notifier.SlowDown, notifier.ReasonUnavailable},
		{mozilla, 503, `{"code":503,"errno":202}`, notifier.Retry, notifier.ReasonUnavailable},
		{google, 503, "", notifier.Retry, notifier.ReasonUnavailable},
		{google, 418, "", notifier.Permanent, rejected},
	} {
		r := webpush.Judge(webpush.Answered(row.status, nil, row.body), row.host, time.Now())
		require.NoError(t, r.Validate(), "%+v", row)
		require.Equal(t, row.want, r.Status, "%+v", row)
		require.Equal(t, row.reason, r.Reason, "%+v", row)
		if r.Status == notifier.SlowDown {
			require.Equal(t, map[int]notifier.Pause{
				401: notifier.PauseMessage, 403: notifier.PauseMessage, 406: notifier.PauseHost, 429: notifier.PauseDevice, 503: notifier.PauseHost,
			}[row.status], r.Pause)
		}
	}
}

func TestWaitsThatPushServicesAskFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		host           string
		status         int
		after, body    string
		want           notifier.Status
		least, longest time.Duration
	}{
		// Mozilla spreads the waits itself.
		{mozilla, 429, "117", `{"errno": 201}`, notifier.SlowDown, 117 * time.Second, 117 * time.Second},
		{windows, 406, "30", "", notifier.SlowDown, 30 * time.Second, 33 * time.Second},
		{windows, 406, "", "", notifier.SlowDown, time.Minute, 66 * time.Second},
		{google, 429, "86400", "", notifier.SlowDown, time.Hour, 66 * time.Minute},
		{google, 503, "10", "", notifier.SlowDown, 10 * time.Second, 11 * time.Second},
		{mozilla, 503, "10", `{"errno": 202}`, notifier.Retry, 10 * time.Second, 11 * time.Second},
		{google, 500, "10", "", notifier.Retry, 10 * time.Second, 11 * time.Second},
	} {
		r := webpush.Judge(webpush.Answered(row.status, http.Header{"Retry-After": {row.after}}, row.body), row.host, time.Now())
		require.Equal(t, row.want, r.Status, "%+v", row)
		require.GreaterOrEqual(t, r.RetryAfter, row.least, "%+v", row)
		require.LessOrEqual(t, r.RetryAfter, row.longest, "%+v", row)
	}
}

// While a host asks to be left alone nothing is sent there.
func TestAHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	busy, other := pushService(t, clock), pushService(t, clock)
	asked := 0
	busy.AnswerWith(func() notifiertest.Answer {
		asked++
		return notifiertest.Answer{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"120"}}, Body: `{"errno": 201}`}
	})
	roots := busy.Roots() // both have the same certificate
	channel := open(t, webpush.Config{Hosts: []string{busy.Host()}, AllowInternal: true, RootCAs: roots, Now: clock})
	there := device(t, busy, channel.PublicKey())
	for range 3 {
		result := channel.Notify(t.Context(), order(there))
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.SlowDown, result.Status)
		require.Equal(t, notifier.ReasonUnavailable, result.Reason)
		require.Equal(t, notifier.PauseHost, result.Pause)
		require.Equal(t, 2*time.Minute, result.RetryAfter)
	}
	require.Equal(t, 1, asked)
	now = now.Add(time.Minute)
	require.Equal(t, time.Minute, channel.Notify(t.Context(), order(there)).RetryAfter)
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), order(device(t, other, channel.PublicKey()))).Status, "another host")
	require.Equal(t, 1, asked)
	now = now.Add(time.Minute)
	busy.AnswerWith(nil)
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), order(there)).Status)
}

// Too many pushes for one device are that device's. For three without a success between they are
// the host's.
func TestTooManyPushes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	service := pushService(t, clock)
	channel, first := openTo(t, service, webpush.Config{Now: clock})
	second, third, fourth := device(t, service, channel.PublicKey()), device(t, service, channel.PublicKey()), device(t, service, channel.PublicKey())
	busy := func() notifiertest.Answer { return notifiertest.Answer{Status: http.StatusTooManyRequests} }
	pause := func(to *notifier.Device, answer func() notifiertest.Answer) notifier.Pause {
		service.AnswerWith(answer)
		r := channel.Notify(t.Context(), order(to))
		require.Equal(t, r.Pause == notifier.PauseDevice, r.Unclear)
		return r.Pause
	}
	for range 2 {
		for _, to := range []*notifier.Device{first, second, first, second} {
			require.Equal(t, notifier.PauseDevice, pause(to, busy))
		}
		require.Zero(t, pause(fourth, nil), "it is delivered")
	}
	require.Equal(t, notifier.PauseDevice, pause(first, busy))
	require.Equal(t, notifier.PauseDevice, pause(second, busy))
	require.Equal(t, notifier.PauseHost, pause(third, busy))
	require.Equal(t, notifier.PauseHost, pause(fourth, nil), "nothing is sent there")
	now = now.Add(2 * time.Minute)
	require.Equal(t, notifier.PauseHost, pause(first, busy), "it accepted nothing since")
	now = now.Add(2 * time.Minute)
	require.Zero(t, pause(first, nil))
	require.Equal(t, notifier.PauseDevice, pause(third, busy))
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"Location": {"https://push.example.net/message/qDIYHNcfAIPP_5ITvURr-d6BGt"}}, "https://push.example.net/message/qDIYHNcfAIPP_5ITvURr-d6BGt"},
		{http.Header{"Apns-Id": {"E8CCAC7A-1D52-4FE5-9D3D-29CA3F27C78C"}}, "E8CCAC7A-1D52-4FE5-9D3D-29CA3F27C78C"},
		{http.Header{"Location": {strings.Repeat("x", 513)}}, ""},
		{http.Header{"Location": {"a b"}}, ""},
		{nil, ""},
	} {
		require.Equal(t, row.want, webpush.Judge(webpush.Answered(201, row.header, ""), google, time.Now()).ProviderID)
	}
}

// A push service may send anything.
func FuzzAnswer(f *testing.F) {
	f.Add(403, "120", `{"reason":"BadJwtToken"}`)
	f.Add(429, "Sun, 22 Nov 2026 11:12:41 GMT", `{"code":429,"errno":201,"message":"canary"}`)
	f.Add(400, "", "UnauthorizedRegistration")
	f.Add(503, "-1", `{"errno":"201","reason":{}}`)
	f.Add(410, "1e9", `[`)
	f.Add(99, "", "\xff")
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		r := webpush.Judge(webpush.Answered(status, http.Header{"Retry-After": {after}}, body), google, time.Unix(1_795_345_871, 0))
		require.NoError(t, r.Validate())
		require.LessOrEqual(t, r.RetryAfter, webpush.MaxRetryAfter+webpush.MaxRetryAfter/10)
		if r.Err != nil {
			require.NotContains(t, r.Err.Error(), "canary")
			require.Less(t, len(r.Err.Error()), 100)
		}
	})
}
