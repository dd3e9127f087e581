package fcm_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const phone = "dpH5lCsTSSM:APA91b-secret-of-the-phone"

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func server(t *testing.T, now func() time.Time) *notifiertest.FCMServer {
	t.Helper()
	s, err := notifiertest.NewFCMServer(now)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// open returns a channel to a server. It is closed when the test ends.
func open(t *testing.T, s *notifiertest.FCMServer, c fcm.Config) *fcm.Notifier {
	t.Helper()
	if c.Credentials == nil {
		credentials, err := s.Credentials()
		require.NoError(t, err)
		c.Credentials = credentials
	}
	if c.Endpoint == "" {
		c.Endpoint = s.URL()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.RootCAs = s.Roots()
	f, err := fcm.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// order returns a small message to a device.
func order(token string) notifier.Notification {
	return notifier.Notification{
		ID: "order-17", User: "alice", Title: "Hello", Device: &notifier.Device{ID: "d1", Channel: notifier.ChannelFCM, Address: token},
		Attempt: 1, IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
}

// push delivers, and checks that the result is one that a channel may return.
func push(t *testing.T, f *fcm.Notifier, n notifier.Notification) notifier.Result {
	t.Helper()
	r := f.Notify(t.Context(), n)
	require.NoError(t, r.Validate())
	if r.Err != nil {
		require.NotContains(t, r.Err.Error(), "secret")
	}
	return r
}

// toPhone is a channel that delivers everything to one device.
type toPhone struct{ *fcm.Notifier }

func (c toPhone) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	n.Device = &notifier.Device{ID: "d1", Channel: notifier.ChannelFCM, Address: phone}
	return c.Notifier.Notify(ctx, n)
}

// hurried is a clock that goes on for hours at each look, so that no pause is doubled.
func hurried() func() time.Time {
	c := newClock()
	return func() time.Time {
		c.Add(3 * time.Hour)
		return c.Now()
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	// The suite's own servers do not speak TLS, and know no tokens.
	tokens := notifiertest.NewReceiver(time.Now)
	t.Cleanup(tokens.Close)
	tokens.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Body: `{"access_token": "ya29.secret-bearer", "expires_in": 3599}`}
	})
	keys := server(t, time.Now)
	credentials := edited(t, keys, map[string]any{"token_uri": tokens.URL() + "/token"})
	row := func(first, last int, status notifier.Status, reason notifier.Reason) notifiertest.StatusRow {
		return notifiertest.StatusRow{First: first, Last: last, Status: status, Reason: reason}
	}
	notifiertest.RunHTTP(t, notifiertest.HTTPSuite{
		New: func(t *testing.T, baseURL string, timeout time.Duration) notifier.Notifier {
			t.Helper()
			return toPhone{open(t, keys, fcm.Config{Credentials: credentials, Endpoint: baseURL, Timeout: timeout, Now: hurried()})}
		},
		Statuses: []notifiertest.StatusRow{
			row(200, 299, notifier.Delivered, ""),
			row(300, 399, notifier.Permanent, notifier.ReasonRedirected),
			row(401, 401, notifier.Refused, notifier.ReasonUnauthorized),
			row(403, 403, notifier.Refused, notifier.ReasonUnauthorized),
			row(404, 404, notifier.Refused, notifier.ReasonMisaddressed),
			row(408, 408, notifier.Retry, notifier.ReasonUnavailable),
			row(413, 413, notifier.Permanent, notifier.ReasonTooLarge),
			row(425, 425, notifier.Retry, notifier.ReasonUnavailable),
			row(429, 429, notifier.SlowDown, notifier.ReasonRateLimited),
			row(400, 499, notifier.Permanent, notifier.ReasonRejected),
			row(500, 599, notifier.Retry, notifier.ReasonUnavailable),
		},
		Twice:         []int{http.StatusUnauthorized},
		MaxRetryAfter: fcm.MaxRetryAfter,
		Spread:        true,
		DefaultPause:  time.Minute,
		Key: func(r notifiertest.Request) string {
			var sent struct {
				Message struct {
					Android struct {
						Key string `json:"collapse_key"`
					} `json:"android"`
				} `json:"message"`
			}
			if json.Unmarshal(r.Body, &sent) != nil {
				return ""
			}
			return sent.Message.Android.Key
		},
		Secrets: []string{phone, "secret-bearer", "PRIVATE KEY", "iam.gserviceaccount.com", tokens.URL()[len("http://"):]},
	})
}

// edited returns the server's credentials with other members.
func edited(t *testing.T, s *notifiertest.FCMServer, members map[string]any) []byte {
	t.Helper()
	credentials, err := s.Credentials()
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(credentials, &all))
	maps.Copy(all, members)
	text, err := json.Marshal(all)
	require.NoError(t, err)
	return text
}

func TestAPhoneGetsAMessage(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := server(t, c.Now)
	f := open(t, s, fcm.Config{Now: c.Now})
	n := order(phone)
	n.Title, n.Body, n.Image = "Your <order>", "It arrives today", "https://shop.example/17.png"
	n.Data, n.ClickURL, n.Sound = map[string]string{"order": "17"}, "https://shop.example/orders/17", "chime.caf"
	n.Badge, n.Priority, n.CollapseKey = new(3), notifier.PriorityHigh, "order-17-status"
	n.ExpiresAt = c.Now().Add(time.Hour)
	require.NoError(t, f.Check(n))
	r := push(t, f, n)
	require.Equal(t, notifier.Delivered, r.Status, "%v", r.Err)
	require.Equal(t, "projects/shop-1234/messages/1", r.ProviderID)

	n = order(phone)
	n.Priority, n.ClickURL, n.CollapseKey, n.ExpiresAt = notifier.PriorityNormal, "shop://orders/17", strings.Repeat("ü", 40), c.Now().Add(-time.Hour)
	require.Equal(t, notifier.Delivered, push(t, f, n).Status)

	sent := s.Messages()
	require.Len(t, sent, 2)
	require.Equal(t, "HTTP/2.0", sent[0].Protocol)
	require.False(t, sent[0].ValidateOnly)
	require.JSONEq(t, `{
		"token": "dpH5lCsTSSM:APA91b-secret-of-the-phone",
		"notification": {"title": "Your <order>", "body": "It arrives today", "image": "https://shop.example/17.png"},
		"data": {"order": "17", "click_url": "https://shop.example/orders/17"},
		"android": {"priority": "HIGH", "ttl": "3600s", "collapse_key": "order-17-status",
			"notification": {"sound": "chime.caf", "tag": "order-17-status", "notification_count": 3}},
		"apns": {"headers": {"apns-priority": "10", "apns-expiration": "1795349471", "apns-collapse-id": "order-17-status"},
			"payload": {"aps": {"badge": 3, "sound": "chime.caf"}}},
		"webpush": {"headers": {"TTL": "3600", "Urgency": "high", "Topic": "NGZ7A9rvJBaKXYmB5MUbNdCr5-H4bCNE"},
			"fcm_options": {"link": "https://shop.example/orders/17"}}}`, string(sent[0].Message))
	require.JSONEq(t, `{
		"token": "dpH5lCsTSSM:APA91b-secret-of-the-phone",
		"notification": {"title": "Hello"}, "data": {"click_url": "shop://orders/17"},
		"android": {"priority": "NORMAL", "ttl": "0s", "collapse_key": "bdf9bfe506709879f19c108436c04e86", "notification": {"tag": "bdf9bfe506709879f19c108436c04e86"}},
		"apns": {"headers": {"apns-priority": "5", "apns-expiration": "1795342271", "apns-collapse-id": "bdf9bfe506709879f19c108436c04e86"}},
		"webpush": {"headers": {"TTL": "0", "Urgency": "normal", "Topic": "DgKdTipJGfAqoyOR0Kr9J20HNxt3yttG"}}}`, string(sent[1].Message))
}

func TestTheLongestTimeToLive(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	n := order(phone)
	n.ExpiresAt = time.Now().Add(90 * 24 * time.Hour)
	require.Equal(t, notifier.Delivered, push(t, f, n).Status)
	require.Contains(t, string(s.Messages()[0].Message), `"ttl":"2419200s"`)
}

func TestAMessageSaysMoreForFCMAlone(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	n := order(phone)
	n.Override = json.RawMessage(`{"android": {"collapse_key": null, "notification": {"channel_id": "orders", "tag": null}},
		"notification": {"title": "For FCM"}, "fcm_options": {"analytics_label": "spring"},
		"apns": {"headers": null, "payload": {"aps": {"thread-id": 1763809871000123456}}}, "webpush": null}`)
	require.NoError(t, f.Check(n))
	require.Equal(t, notifier.Delivered, push(t, f, n).Status)
	require.JSONEq(t, `{"token": "dpH5lCsTSSM:APA91b-secret-of-the-phone", "notification": {"title": "For FCM"},
		"android": {"notification": {"channel_id": "orders"}}, "fcm_options": {"analytics_label": "spring"},
		"apns": {"payload": {"aps": {"thread-id": 1763809871000123456}}}}`, string(s.Messages()[0].Message))
	require.Contains(t, string(s.Messages()[0].Message), "1763809871000123456", "digits are kept")

	for text, field := range map[string]string{
		`{"token": "secret"}`:                                "channels.fcm.token",
		`{"topic": null}`:                                    "channels.fcm.topic",
		`{"condition": "secret"}`:                            "channels.fcm.condition",
		`{"name": "secret"}`:                                 "channels.fcm.name",
		`{"apns": {"headers": {"Apns-Topic": "secret"}}}`:    "channels.fcm.apns.headers.apns-topic",
		`{"apns": {"headers": {"authorization": "secret"}}}`: "channels.fcm.apns.headers.authorization",
		`{"webpush": {"headers": {"Crypto-Key": "secret"}}}`: "channels.fcm.webpush.headers.crypto-key",
		`["secret"]`:                                         "channels.fcm",
		`null`:                                               "channels.fcm",
		`{"android": {`:                                      "channels.fcm",
		`{} {}`:                                              "channels.fcm",
		`{"data": {"gcm.secret": "x"}}`:                      "data",
		`{"data": {"secret": 1}}`:                            "data",
		`{"data": "secret"}`:                                 "data",
		`{"android": {"data": {"google": ""}}}`:              "data",
		`{"webpush": {"data": {"from": "me"}}}`:              "data",
	} {
		n.Override = json.RawMessage(text)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, f.Check(n), &invalid, text)
		require.Equal(t, field, invalid.Field, text)
		r := push(t, f, n)
		require.Equal(t, notifier.ReasonRejected, r.Reason, text)
		require.ErrorContains(t, r.Err, field)
	}
	require.Len(t, s.Messages(), 1)
}

func TestDataKeysThatFCMUses(t *testing.T) {
	t.Parallel()
	f := open(t, server(t, time.Now), fcm.Config{})
	for key, allowed := range map[string]bool{
		"from": false, "message_type": false, "google": false, "google.c.a": false, "gcm": false, "gcm.notification.x": false,
		"From": true, "from_user": true, "message": true, "collapse_key": true,
	} {
		n := order(phone)
		n.Data = map[string]string{key: "x"}
		err := f.Check(n)
		if allowed {
			require.NoError(t, err, key)
			continue
		}
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, key)
		require.Equal(t, "data", invalid.Field)
		require.Equal(t, key, invalid.Value)
	}
}

func TestTheLargestPayload(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	n := order(phone)
	n.Sound, n.Title = "chime", ""
	// {"body":"…"} and {"aps":{"sound":"chime"}}, or {"sound":"chime","tag":"…"} with 32 characters.
	bare := len(`{"body":""}`) + len(`{"sound":"chime","tag":""}`) + 32
	n.Body = strings.Repeat("b", fcm.MaxPayload-bare)
	require.NoError(t, f.Check(n))
	require.Equal(t, notifier.Delivered, push(t, f, n).Status)
	n.Body += "b"
	var invalid *notifier.InvalidError
	require.ErrorAs(t, f.Check(n), &invalid)
	require.Equal(t, "message", invalid.Field)
	require.Equal(t, "4097 bytes", invalid.Value)
	require.Equal(t, notifier.ReasonTooLarge, push(t, f, n).Reason)
	require.Len(t, s.Messages(), 1)
}

func TestWithoutADeviceNothingIsSent(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	n := order(phone)
	n.Device = nil
	require.NoError(t, f.Check(n))
	require.Equal(t, notifier.ReasonNoDevice, push(t, f, n).Reason)
	for _, address := range []string{"", "secret token", "secret\r\n", strings.Repeat("s", 4097)} {
		require.Error(t, f.CheckAddress(address))
		require.Equal(t, notifier.ReasonMisaddressed, push(t, f, order(address)).Reason)
	}
	require.NoError(t, f.CheckAddress(phone))
	require.Zero(t, s.Exchanges())
}
