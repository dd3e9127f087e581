package apns_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apple returns a server that is closed when the test ends.
func apple(t *testing.T, now func() time.Time, streams uint32) *notifiertest.APNsServer {
	t.Helper()
	s, err := notifiertest.NewAPNsServer(now, streams)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// open returns a channel to a server, which is closed when the test ends.
func open(t *testing.T, s *notifiertest.APNsServer, c apns.Config) *apns.Notifier {
	t.Helper()
	key, err := s.Key()
	require.NoError(t, err)
	c.Key, c.KeyID, c.TeamID, c.Topic = key, notifiertest.APNsKeyID, notifiertest.APNsTeamID, notifiertest.APNsTopic
	c.Endpoint, c.RootCAs = s.URL(), s.Roots()
	if c.Now == nil {
		c.Now = time.Now
	}
	a, err := apns.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// openBoth returns a channel and its server.
func openBoth(t *testing.T) (*apns.Notifier, *notifiertest.APNsServer) {
	t.Helper()
	s := apple(t, time.Now, 100)
	return open(t, s, apns.Config{}), s
}

func device() *notifier.Device {
	return &notifier.Device{ID: "d1", Channel: notifier.ChannelAPNs, Address: notifiertest.NewAPNsDevice()}
}

// order returns a small message to a device.
func order(to *notifier.Device) notifier.Notification {
	return notifier.Notification{
		ID: "order-17", User: "alice", Title: "Hello", Device: to, Attempt: 1, IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
}

// send pushes n and checks the result as such.
func send(t *testing.T, a *apns.Notifier, n notifier.Notification) notifier.Result {
	t.Helper()
	result := a.Notify(t.Context(), n)
	require.NoError(t, result.Validate())
	if n.Device != nil && n.Device.Address != "" && result.Err != nil {
		require.NotContains(t, result.Err.Error(), n.Device.Address)
	}
	return result
}

// delivered pushes n and requires that it was delivered.
func delivered(t *testing.T, a *apns.Notifier, n notifier.Notification) {
	t.Helper()
	result := send(t, a, n)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
}

// toDevice is a channel that delivers everything to one device.
type toDevice struct {
	*apns.Notifier

	device *notifier.Device
}

func (c toDevice) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	n.Device = c.device
	return c.Notifier.Notify(ctx, n)
}

// Over HTTP/2, as with Apple.
func TestConformance(t *testing.T) {
	t.Parallel()
	to := device()
	made := func(answer func() notifiertest.APNsAnswer) func(t *testing.T) notifier.Notifier {
		return func(t *testing.T) notifier.Notifier {
			t.Helper()
			a, s := openBoth(t)
			s.AnswerWith(answer)
			return toDevice{a, to}
		}
	}
	notifiertest.Run(t, notifiertest.Suite{
		New: made(nil),
		Failing: made(func() notifiertest.APNsAnswer {
			return notifiertest.APNsAnswer{Status: http.StatusBadRequest, Reason: to.Address}
		}),
		Stuck: func(t *testing.T) notifier.Notifier {
			t.Helper()
			a, s := openBoth(t)
			delivered(t, a, order(to)) // the suite has no time for a handshake
			s.AnswerWith(func() notifiertest.APNsAnswer { return notifiertest.APNsAnswer{Delay: time.Hour} })
			return toDevice{a, to}
		},
		Secrets: []string{to.Address},
	})
}

// Over HTTP/1.1, in which the suite says what goes wrong on the wire. What answers mean is the
// same.
func TestConformanceOnTheWire(t *testing.T) {
	t.Parallel()
	row := func(first, last int, status notifier.Status, reason notifier.Reason) notifiertest.StatusRow {
		return notifiertest.StatusRow{First: first, Last: last, Status: status, Reason: reason}
	}
	to := device()
	server := apple(t, time.Now, 1) // only its key is used
	notifiertest.RunHTTP(t, notifiertest.HTTPSuite{
		New: func(t *testing.T, baseURL string, timeout time.Duration) notifier.Notifier {
			t.Helper()
			a := open(t, server, apns.Config{Timeout: timeout})
			a.OverHTTP1(strings.TrimPrefix(baseURL, "http://"))
			return toDevice{a, to}
		},
		Statuses: []notifiertest.StatusRow{
			row(200, 299, notifier.Delivered, ""),
			row(300, 399, notifier.Permanent, notifier.ReasonRedirected),
			row(401, 401, notifier.Refused, notifier.ReasonUnauthorized),
			row(403, 403, notifier.Refused, notifier.ReasonUnauthorized),
			row(408, 408, notifier.Retry, notifier.ReasonUnavailable),
			row(413, 413, notifier.Permanent, notifier.ReasonTooLarge),
			row(425, 425, notifier.Retry, notifier.ReasonUnavailable),
			row(429, 429, notifier.SlowDown, notifier.ReasonRateLimited),
			row(400, 499, notifier.Permanent, notifier.ReasonRejected),
			row(503, 503, notifier.SlowDown, notifier.ReasonUnavailable),
			row(500, 599, notifier.Retry, notifier.ReasonUnavailable),
		},
		MaxRetryAfter: apns.MaxRetryAfter,
		Spread:        true,
		DefaultPause:  time.Minute,
		Pauses:        map[int]time.Duration{http.StatusServiceUnavailable: 10 * time.Second},
		Key:           func(r notifiertest.Request) string { return r.Header.Get("Apns-Id") },
		Secrets:       []string{to.Address, notifiertest.APNsTeamID},
	})
}

func TestADeviceGetsAPush(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	n := notifier.Notification{
		ID: "order-17", User: "alice", Category: "orders", Title: "Your <order> is on its way", Body: "It arrives today",
		Data: map[string]string{"order": "17"}, Metadata: map[string]string{"source": "shop"}, Device: device(),
		Image: "https://shop.example/17.png", ClickURL: "https://shop.example/orders/17", Badge: new(3), Sound: "bell.caf",
		Priority: notifier.PriorityHigh, CollapseKey: "order-17-status", ExpiresAt: now.Add(time.Hour), SendAt: now, Attempt: 1,
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
	result := send(t, a, n)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	push := s.Pushes()[0]
	require.Equal(t, n.Device.Address, push.Device)
	require.JSONEq(t, `{
		"aps": {"alert": {"title": "Your <order> is on its way", "body": "It arrives today"}, "badge": 3, "sound": "bell.caf",
			"mutable-content": 1},
		"id": "order-17", "category": "orders", "send_at": "2026-11-22T11:11:11.000Z", "order": "17",
		"image": "https://shop.example/17.png", "click_url": "https://shop.example/orders/17"}`, string(push.Payload))
	require.Contains(t, string(push.Payload), "<order>", "an escape makes it longer")
	require.Equal(t, result.ProviderID, push.Header.Get("Apns-Id"))
	for name, want := range map[string]string{
		"Apns-Topic": notifiertest.APNsTopic, "Apns-Push-Type": "alert", "Apns-Priority": "10", "Apns-Expiration": "1795349471",
		"Apns-Collapse-Id": "order-17-status", "Content-Type": "application/json", "User-Agent": "sendlimit",
	} {
		require.Equal(t, want, push.Header.Get(name), name)
	}

	// With as little as possible, at the second attempt.
	bare := order(n.Device)
	bare.Attempt, bare.Priority = 2, notifier.PriorityNormal
	delivered(t, a, bare)
	again := s.Pushes()[1]
	require.JSONEq(t, `{"aps": {"alert": {"title": "Hello"}}, "id": "order-17"}`, string(again.Payload))
	require.Equal(t, push.Header.Get("Apns-Id"), again.Header.Get("Apns-Id"), "the same at every attempt")
	require.Equal(t, bare.IdempotencyKey, again.Header.Get("Apns-Collapse-Id"))
	require.Equal(t, "5", again.Header.Get("Apns-Priority"))
	require.Equal(t, "1795432271", again.Header.Get("Apns-Expiration"), "a day later")

	other := bare
	other.Device = device()
	other.Device.ID, other.CollapseKey = "d2", strings.Repeat("ä", 40)
	delivered(t, a, other)
	require.NotEqual(t, push.Header.Get("Apns-Id"), s.Pushes()[2].Header.Get("Apns-Id"), "another device")
	require.Len(t, s.Pushes()[2].Header.Get("Apns-Collapse-Id"), 43, "a hash of what does not fit")
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	s := apple(t, func() time.Time { return now }, 100)
	a := open(t, s, apns.Config{Now: func() time.Time { return now }})
	for expires, want := range map[time.Duration]string{-time.Hour: "0", time.Minute: "1795345931", 90 * 24 * time.Hour: "1797937871"} {
		n := order(device())
		n.ExpiresAt = now.Add(expires)
		delivered(t, a, n)
		pushes := s.Pushes()
		require.Equal(t, want, pushes[len(pushes)-1].Header.Get("Apns-Expiration"))
	}
}

func TestAMessageWithoutTextWakesTheApp(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	n := order(device())
	n.Title, n.Data, n.Priority = "", map[string]string{"refresh": "orders"}, notifier.PriorityHigh
	delivered(t, a, n)
	push := s.Pushes()[0]
	require.JSONEq(t, `{"aps": {"content-available": 1}, "id": "order-17", "refresh": "orders"}`, string(push.Payload))
	require.Equal(t, "background", push.Header.Get("Apns-Push-Type"))
	require.Equal(t, "5", push.Header.Get("Apns-Priority"), "10 is refused")
	n.Title, n.Badge = "", new(0)
	delivered(t, a, n)
	require.Equal(t, "alert", s.Pushes()[1].Header.Get("Apns-Push-Type"), "a badge is seen")
}

func TestALiveActivity(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	n := order(device())
	n.SendAt = time.Unix(1_795_345_871, 0)
	n.Override = json.RawMessage(`{"push_type": "liveactivity", "payload": {"aps": {"event": "update", "alert": null,
		"content-state": {"stops": 3, "driver": {"name": "Kim"}}}}}`)
	delivered(t, a, n)
	push := s.Pushes()[0]
	require.JSONEq(t, `{"aps": {"event": "update", "timestamp": 1795345871, "content-state": {"stops": 3, "driver": {"name": "Kim"}}},
		"id": "order-17", "send_at": "2026-11-22T11:11:11.000Z"}`, string(push.Payload))
	require.Equal(t, notifiertest.APNsTopic+".push-type.liveactivity", push.Header.Get("Apns-Topic"))
	require.Equal(t, "5", push.Header.Get("Apns-Priority"), "10 is on a budget")
	n.Priority = notifier.PriorityHigh
	n.Override = json.RawMessage(`{"push_type": "liveactivity", "topic": "` + notifiertest.APNsTopic + `.push-type.liveactivity"}`)
	delivered(t, a, n)
	require.Equal(t, "10", s.Pushes()[1].Header.Get("Apns-Priority"))
}

func TestAMessageSaysMoreForAppleAlone(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	n := order(device())
	n.Data = map[string]string{"order": "17"}
	n.Override = json.RawMessage(`{"priority": 1, "expiration": 0, "collapse_id": "c-1",
		"payload": {"order": null, "big": 12345678901234567890, "aps": {"thread-id": "orders", "alert": {"subtitle": "17"}}}}`)
	require.NoError(t, a.Check(n))
	delivered(t, a, n)
	push := s.Pushes()[0]
	require.JSONEq(t, `{"aps": {"alert": {"title": "Hello", "subtitle": "17"}, "thread-id": "orders"}, "id": "order-17",
		"big": 12345678901234567890}`, string(push.Payload))
	require.Contains(t, string(push.Payload), "12345678901234567890", "digits are kept")
	for name, want := range map[string]string{"Apns-Priority": "1", "Apns-Expiration": "0", "Apns-Collapse-Id": "c-1"} {
		require.Equal(t, want, push.Header.Get(name))
	}
	for text, field := range map[string]string{
		`{"push_type": "secret"}`:                          "channels.apns.push_type",
		`{"topic": "secret topic"}`:                        "channels.apns.topic",
		`{"topic": "com.example.another"}`:                 "channels.apns.topic",
		`{"topic": "` + notifiertest.APNsTopic + `.voip"}`: "channels.apns.topic", // of another push type
		`{"priority": 7}`:                                  "channels.apns.priority",
		`{"push_type": "background", "priority": 10}`:      "channels.apns.priority",
		`{"expiration": -1}`:                               "channels.apns.expiration",
		`{"collapse_id": "secret id"}`:                     "channels.apns.collapse_id",
		`{"collapse_id": "` + long("secret", 65) + `"}`:    "channels.apns.collapse_id",
		`{"payload": {"aps": null}}`:                       "channels.apns.payload",
		`{"payload": {"aps": "secret"}}`:                   "channels.apns.payload",
		`{"payload": ["secret"]}`:                          "channels.apns",
		`{"secret": 1}`:                                    "channels.apns",
		`["secret"]`:                                       "channels.apns",
		`{"payload": {"secret`:                             "channels.apns",
		`{"priority": 5} {"topic": "x"}`:                   "channels.apns",
	} {
		n.Override = json.RawMessage(text)
		refusedBeforehand(t, a, n, field)
	}
	n.Override, n.Data = nil, map[string]string{"aps": "secret"}
	refusedBeforehand(t, a, n, "data")
	require.Len(t, s.Pushes(), 1)
}

func long(text string, length int) string { return text + strings.Repeat("x", length-len(text)) }

func refusedBeforehand(t *testing.T, a *apns.Notifier, n notifier.Notification, field string) {
	t.Helper()
	var invalid *notifier.InvalidError
	require.ErrorAs(t, a.Check(n), &invalid, string(n.Override))
	require.Equal(t, field, invalid.Field, string(n.Override))
	result := send(t, a, n)
	require.Equal(t, notifier.Permanent, result.Status)
	require.Equal(t, notifier.ReasonRejected, result.Reason)
	require.ErrorContains(t, result.Err, field)
	require.NotContains(t, result.Err.Error(), "secret")
}

// The longest payload is accepted. One byte more is found beforehand.
func TestTheLargestPayload(t *testing.T) {
	t.Parallel()
	for override, longest := range map[string]int{"": 4096, `{"push_type": "voip"}`: 5120} {
		a, s := openBoth(t)
		n := order(device())
		n.Override = json.RawMessage(override)
		delivered(t, a, n)
		n.Title += strings.Repeat("t", longest-len(s.Pushes()[0].Payload))
		require.NoError(t, a.Check(n))
		delivered(t, a, n)
		require.Len(t, s.Pushes()[1].Payload, longest)
		n.Title += "t"
		var invalid *notifier.InvalidError
		require.ErrorAs(t, a.Check(n), &invalid)
		require.Equal(t, "message", invalid.Field)
		result := send(t, a, n)
		require.Equal(t, notifier.Permanent, result.Status)
		require.Equal(t, notifier.ReasonTooLarge, result.Reason)
		require.Len(t, s.Pushes(), 2)
	}
}

func TestDevicesThatCanNotBe(t *testing.T) {
	t.Parallel()
	a, s := openBoth(t)
	result := send(t, a, order(nil))
	require.Equal(t, notifier.ReasonNoDevice, result.Reason)
	for _, token := range []string{"", strings.Repeat("a", 63), strings.Repeat("a", 201), strings.Repeat("g", 64), "../" + strings.Repeat("a", 64)} {
		require.Error(t, a.CheckAddress(token))
		result := send(t, a, order(&notifier.Device{ID: "d1", Address: token}))
		require.Equal(t, notifier.Permanent, result.Status)
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason)
	}
	require.NoError(t, a.CheckAddress(strings.Repeat("aF", 100)))
	require.Empty(t, s.Pushes())
}
