package webpush_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys is a pair for tests only.
func keys() webpush.Keys {
	return webpush.Keys{
		Public:  "BOsicoBNLJ3Ch85bnxJ-LKKaLzop6TiGhZMYGWW1RX7MdHtgsBeq-C4-O0ukMRACOvF1H081BuUlQXfBm_X0ano",
		Private: "6l3WLUts1o57oeV2TYIBxK_PGfcQ4hFTsfsuyHgVwFc",
	}
}

// open returns a channel that is closed when the test ends.
func open(t *testing.T, c webpush.Config) *webpush.Notifier {
	t.Helper()
	if c.PrivateKey == "" {
		c.PrivateKey = keys().Private
	}
	c.Subject = "ops@example.com"
	if c.Now == nil {
		c.Now = time.Now
	}
	w, err := webpush.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// openTo returns a channel to a push service, and a device there.
func openTo(t *testing.T, service *notifiertest.PushService, c webpush.Config) (*webpush.Notifier, *notifier.Device) {
	t.Helper()
	c.Hosts, c.AllowInternal, c.RootCAs = []string{service.Host()}, true, service.Roots()
	channel := open(t, c)
	return channel, device(t, service, channel.PublicKey())
}

func device(t *testing.T, service *notifiertest.PushService, publicKey string) *notifier.Device {
	t.Helper()
	address, err := service.Subscribe(publicKey)
	require.NoError(t, err)
	return &notifier.Device{ID: "d1", Channel: notifier.ChannelWebPush, Address: address}
}

func pushService(t *testing.T, now func() time.Time) *notifiertest.PushService {
	t.Helper()
	s := notifiertest.NewPushService(now)
	t.Cleanup(s.Close)
	return s
}

// toDevice is a channel that delivers everything to one device.
type toDevice struct {
	*webpush.Notifier

	device *notifier.Device
}

func (c toDevice) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	n.Device = c.device
	return c.Notifier.Notify(ctx, n)
}

// hurried is a clock that goes on for hours at each look, so that no pause is ever on.
func hurried() func() time.Time {
	var mu sync.Mutex
	now := time.Now()
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(2 * time.Hour)
		return now
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const path = "/push/secret-of-the-browser"
	row := func(first, last int, status notifier.Status, reason notifier.Reason) notifiertest.StatusRow {
		return notifiertest.StatusRow{First: first, Last: last, Status: status, Reason: reason}
	}
	notifiertest.RunHTTP(t, notifiertest.HTTPSuite{
		New: func(t *testing.T, baseURL string, timeout time.Duration) notifier.Notifier {
			t.Helper()
			channel := open(t, webpush.Config{Hosts: []string{"127.0.0.1"}, AllowInternal: true, Timeout: timeout, Now: hurried()})
			channel.WithoutTLS()
			return toDevice{channel, &notifier.Device{ID: "d1", Address: subscription(t, "https"+baseURL[len("http"):]+path)}}
		},
		Statuses: []notifiertest.StatusRow{
			row(200, 299, notifier.Delivered, ""),
			row(300, 399, notifier.Permanent, notifier.ReasonRedirected),
			row(401, 401, notifier.Refused, notifier.ReasonUnauthorized),
			row(403, 403, notifier.Refused, notifier.ReasonUnauthorized),
			row(404, 404, notifier.Gone, notifier.ReasonGone),
			row(408, 408, notifier.Retry, notifier.ReasonUnavailable),
			row(410, 410, notifier.Gone, notifier.ReasonGone),
			row(413, 413, notifier.Permanent, notifier.ReasonTooLarge),
			row(425, 425, notifier.Retry, notifier.ReasonUnavailable),
			row(429, 429, notifier.SlowDown, notifier.ReasonRateLimited),
			row(400, 499, notifier.Permanent, notifier.ReasonRejected),
			row(500, 599, notifier.Retry, notifier.ReasonUnavailable),
		},
		MaxRetryAfter: webpush.MaxRetryAfter,
		Spread:        true,
		DefaultPause:  time.Minute,
		Key:           func(r notifiertest.Request) string { return r.Header.Get("Topic") },
		Secrets:       []string{path, keys().Private},
	})
}

// subscription returns the JSON of a subscription with an endpoint.
func subscription(t *testing.T, endpoint string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"endpoint": endpoint, "keys": map[string]string{"p256dh": keys().Public, "auth": "AAAAAAAAAAAAAAAAAAAAAA"}})
	require.NoError(t, err)
	return string(text)
}

func TestABrowserGetsAndDecryptsAPush(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	service := pushService(t, func() time.Time { return now })
	channel, browser := openTo(t, service, webpush.Config{Now: func() time.Time { return now }})
	n := notifier.Notification{
		ID: "order-17", User: "alice", Category: "orders", Title: "Your <order> is on its way", Body: "It arrives today",
		Data: map[string]string{"order": "17"}, Metadata: map[string]string{"source": "shop"}, Device: browser,
		Image: "https://shop.example/17.png", ClickURL: "https://shop.example/orders/17", Badge: new(3), Priority: notifier.PriorityHigh,
		CollapseKey: "order-17-status", ExpiresAt: now.Add(time.Hour), SendAt: now, Attempt: 1,
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
	result := channel.Notify(t.Context(), n)
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	require.Contains(t, result.ProviderID, "/receipt/1")
	pushes := service.Pushes()
	require.Len(t, pushes, 1)
	require.Equal(t, browser.Address, pushes[0].Browser)
	require.JSONEq(t, `{
		"web_push": 8030, "id": "order-17", "category": "orders", "send_at": "2026-11-22T11:11:11.000Z",
		"notification": {"title": "Your <order> is on its way", "body": "It arrives today", "image": "https://shop.example/17.png",
			"navigate": "https://shop.example/orders/17", "tag": "order-17-status", "data": {"order": "17"}},
		"app_badge": 3, "mutable": true}`, string(pushes[0].Payload))
	require.Equal(t, 3600, pushes[0].TTL)
	require.Equal(t, "high", pushes[0].Urgency)
	require.Len(t, pushes[0].Topic, 32)
	require.Contains(t, string(pushes[0].Payload), "<order>", "an escape makes it longer")

	// Without a URL no browser can show it by itself.
	n.ClickURL, n.CollapseKey, n.ExpiresAt, n.Badge, n.Image, n.Data, n.Priority = "", "", time.Time{}, nil, "", nil, ""
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
	pushes = service.Pushes()
	require.JSONEq(t, `{"id": "order-17", "category": "orders", "send_at": "2026-11-22T11:11:11.000Z",
		"notification": {"title": "Your <order> is on its way", "body": "It arrives today", "tag": "order-17"}}`, string(pushes[1].Payload))
	require.Equal(t, 86400, pushes[1].TTL)
	require.Equal(t, "normal", pushes[1].Urgency)
	require.NotEqual(t, pushes[0].Topic, pushes[1].Topic)
}

func TestAMessageSaysMoreForBrowsersAlone(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel, browser := openTo(t, service, webpush.Config{})
	n := order(browser)
	n.Override = json.RawMessage(`{"urgency": "very-low", "ttl": 60,
		"notification": {"icon": "/i.png", "tag": null, "title": "For browsers", "timestamp": 1763809871000123}}`)
	require.NoError(t, channel.Check(n))
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
	push := service.Pushes()[0]
	require.JSONEq(t, `{"id": "order-17", "notification": {"title": "For browsers", "icon": "/i.png", "timestamp": 1763809871000123}}`,
		string(push.Payload))
	require.Contains(t, string(push.Payload), "1763809871000123", "digits are kept")
	require.Equal(t, "very-low", push.Urgency)
	require.Equal(t, 60, push.TTL)

	for text, field := range map[string]string{
		`{"urgency": "secret-urgency"}`:    "channels.webpush.urgency",
		`{"ttl": -1}`:                      "channels.webpush.ttl",
		`{"ttl": 2419201}`:                 "channels.webpush.ttl",
		`{"ttl": 1.5}`:                     "channels.webpush",
		`{"topic": "secret-topic"}`:        "channels.webpush",
		`{"notification": ["a", "b"]}`:     "channels.webpush",
		`["secret"]`:                       "channels.webpush",
		`{"notification": {"title": "sec`:  "channels.webpush",
		`{"urgency": "high"} {"ttl": "x"}`: "channels.webpush",
	} {
		n.Override = json.RawMessage(text)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, channel.Check(n), &invalid, text)
		require.Equal(t, field, invalid.Field, text)
		result := channel.Notify(t.Context(), n)
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.ReasonRejected, result.Reason, text)
		require.ErrorContains(t, result.Err, field)
		require.NotContains(t, result.Err.Error(), "secret")
	}
	require.Len(t, service.Pushes(), 1)
}

// The longest payload fits the body that all push services promise to accept. One byte more is
// found beforehand.
func TestTheLargestPayload(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel, browser := openTo(t, service, webpush.Config{})
	n := order(browser)
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
	bare := len(service.Pushes()[0].Payload) - len(n.Title)

	n.Title = strings.Repeat("t", webpush.MaxPayload-bare)
	require.NoError(t, channel.Check(n))
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
	push := service.Pushes()[1]
	require.Len(t, push.Payload, 3993)
	require.Equal(t, 4096, push.Length)

	n.Title += "t"
	var invalid *notifier.InvalidError
	require.ErrorAs(t, channel.Check(n), &invalid)
	require.Equal(t, "message", invalid.Field)
	require.Equal(t, "3994 bytes", invalid.Value)
	result := channel.Notify(t.Context(), n)
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.ReasonTooLarge, result.Reason)
	require.Len(t, service.Pushes(), 2)
}

func TestLengthsSayLittle(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel, browser := openTo(t, service, webpush.Config{})
	lengths := map[int]bool{}
	for title := 0; title < 3900; title += 50 {
		n := order(browser)
		n.Title = strings.Repeat("t", title)
		require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
	}
	for _, push := range service.Pushes() {
		lengths[push.Length] = true
		require.GreaterOrEqual(t, push.Length, len(push.Payload)+103)
	}
	require.Equal(t, map[int]bool{256: true, 512: true, 1024: true, 2048: true, 2744: true, 4096: true}, lengths)
}

// order returns a small message to a device.
func order(to *notifier.Device) notifier.Notification {
	return notifier.Notification{
		ID: "order-17", User: "alice", Title: "Hello", Device: to, Attempt: 1, IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
}

func TestWithoutADeviceNothingIsSent(t *testing.T) {
	t.Parallel()
	result := open(t, webpush.Config{}).Notify(t.Context(), order(nil))
	require.NoError(t, result.Validate())
	require.Equal(t, notifier.ReasonNoDevice, result.Reason)
}

func TestAnExpiredMessageIsForConnectedBrowsersOnly(t *testing.T) {
	t.Parallel()
	service := pushService(t, time.Now)
	channel, browser := openTo(t, service, webpush.Config{})
	for expires, want := range map[time.Duration]int{-time.Hour: 0, 90 * 24 * time.Hour: 2419200} {
		n := order(browser)
		n.ExpiresAt = time.Now().Add(expires)
		require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
		pushes := service.Pushes()
		require.Equal(t, want, pushes[len(pushes)-1].TTL)
	}
}
