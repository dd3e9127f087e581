package fcm_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canaryToken is a token that no error may show.
const canaryToken = "canary-token:APA91b"

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

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

// newServer starts a server.
func newServer(t *testing.T, now func() time.Time) *notifiertest.FCMServer {
	t.Helper()
	s, err := notifiertest.NewFCMServer(now)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// open returns a channel to a server, which is closed when the test ends.
func open(t *testing.T, s *notifiertest.FCMServer, c fcm.Config) *fcm.Notifier {
	t.Helper()
	var err error
	if c.Credentials == nil {
		c.Credentials, err = s.Credentials()
		require.NoError(t, err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Endpoint, c.RootCAs = s.URL(), s.Roots()
	f, err := fcm.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// notification returns a message to a device.
func notification(token string) notifier.Notification {
	return notifier.Notification{
		ID: "order-17", User: "alice", Title: "Your table is ready", Body: "At eight",
		Device:         &notifier.Device{ID: "d1", Channel: notifier.ChannelFCM, Address: token},
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "order-17"),
	}
}

// toDevice is a channel that delivers everything to one device.
type toDevice struct{ *fcm.Notifier }

func (c toDevice) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	n.Device = &notifier.Device{ID: "d1", Channel: notifier.ChannelFCM, Address: canaryToken}
	return c.Notifier.Notify(ctx, n)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	answering := func(t *testing.T, answer func(notifiertest.FCMMessage) notifiertest.Answer) notifier.Notifier {
		t.Helper()
		s := newServer(t, time.Now)
		s.AnswerWith(answer)
		return toDevice{open(t, s, fcm.Config{})}
	}
	notifiertest.Run(t, notifiertest.Suite{
		New: func(t *testing.T) notifier.Notifier {
			t.Helper()
			return answering(t, nil)
		},
		Failing: func(t *testing.T) notifier.Notifier {
			t.Helper()
			return answering(t, func(m notifiertest.FCMMessage) notifiertest.Answer {
				return notifiertest.Answer{Status: http.StatusBadRequest, Body: "what was wrong: " + m.Token}
			})
		},
		Stuck: func(t *testing.T) notifier.Notifier {
			t.Helper()
			forever := make(chan struct{})
			channel := answering(t, func(notifiertest.FCMMessage) notifiertest.Answer {
				<-forever
				return notifiertest.Answer{Status: http.StatusOK}
			})
			t.Cleanup(func() { close(forever) })
			return channel
		},
		Secrets: []string{canaryToken, "PRIVATE KEY"},
	})
}

func TestWhatAPhoneGets(t *testing.T) {
	t.Parallel()
	at := newClock()
	s := newServer(t, at.Now)
	channel := open(t, s, fcm.Config{Now: at.Now})
	n := notification("token-1")
	badge := 3
	n.Data = map[string]string{"order": "17"}
	n.Image, n.ClickURL, n.Sound, n.Badge = "https://example.com/a.png", "https://example.com/orders/17", "bell", &badge
	n.Priority, n.CollapseKey, n.ExpiresAt = notifier.PriorityNormal, "orders", at.Now().Add(90*time.Second)
	n.Override = []byte(`{"android":{"notification":{"channel_id":"orders","sound":null}},"fcm_options":{"analytics_label":"x"}}`)
	result := channel.Notify(t.Context(), n)
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	require.Equal(t, "projects/demo-project/messages/1", result.ProviderID)

	got := s.Messages()[0].Message
	require.Equal(t, "token-1", got["token"])
	require.Equal(t, map[string]any{"title": "Your table is ready", "body": "At eight", "image": "https://example.com/a.png"}, got["notification"])
	require.Equal(t, map[string]any{"order": "17", "click_url": "https://example.com/orders/17"}, got["data"])
	require.Equal(t, map[string]any{
		"priority": "NORMAL", "ttl": "90s", "collapse_key": "orders",
		"notification": map[string]any{"tag": "orders", "notification_count": 3.0, "channel_id": "orders"},
	}, got["android"])
	require.Equal(t, map[string]any{"analytics_label": "x"}, got["fcm_options"])
	ios, ok := got["apns"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{"aps": map[string]any{"badge": 3.0, "sound": "bell", "mutable-content": 1.0}}, ios["payload"])
	headers, ok := ios["headers"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "5", headers["apns-priority"])
	require.Equal(t, "orders", headers["apns-collapse-id"])
	browser, ok := got["webpush"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{"link": "https://example.com/orders/17"}, browser["fcm_options"])
	topic, ok := browser["headers"].(map[string]any)["Topic"].(string)
	require.True(t, ok)
	require.Len(t, topic, 32, "Apple refuses other lengths")
}

// Every copy of a message replaces the one before on the device, and no other message.
func TestASecondCopyReplacesTheFirst(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	tag := func(n notifier.Notification) any {
		require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), n).Status)
		all := s.Messages()
		android, ok := all[len(all)-1].Message["android"].(map[string]any)
		require.True(t, ok)
		require.NotContains(t, android, "collapse_key", "Google keeps four of them")
		return android["notification"].(map[string]any)["tag"]
	}
	first := tag(notification("token-1"))
	require.NotEmpty(t, first)
	require.Equal(t, first, tag(notification("token-1")))
	other := notification("token-1")
	other.IdempotencyKey = notifier.IdempotencyKey("", "bob", "order-17")
	require.NotEqual(t, first, tag(other))
}

func TestWhatIsRefusedBeforehand(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	for _, row := range []struct {
		change func(*notifier.Notification)
		field  string
		value  string
		reason notifier.Reason
	}{
		{func(n *notifier.Notification) { n.Data = map[string]string{"from": "x"} }, "data", "from", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Data = map[string]string{"google.x": "x"} }, "data", "google.x", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Data = map[string]string{"gcm": "x"} }, "data", "gcm", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Data = map[string]string{"message_type": "x"} }, "data", "message_type", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Override = []byte(`{"token":"other"}`) }, "channels.fcm", "token", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Override = []byte(`[]`) }, "channels.fcm", "(not shown)", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Override = []byte(`{} {}`) }, "channels.fcm", "(not shown)", notifier.ReasonRejected},
		{func(n *notifier.Notification) { n.Body = strings.Repeat("x", 4096) }, "message", "4137 bytes", notifier.ReasonTooLarge},
		{func(n *notifier.Notification) {
			n.Override = []byte(`{"data":{"x":"` + strings.Repeat("x", 4096) + `"}}`)
		}, "message", "4153 bytes", notifier.ReasonTooLarge},
	} {
		n := notification("token-1")
		row.change(&n)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, channel.Check(n), &invalid)
		require.Equal(t, row.field, invalid.Field)
		require.Equal(t, row.value, invalid.Value)
		result := channel.Notify(t.Context(), n)
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Permanent, result.Status)
		require.Equal(t, row.reason, result.Reason)
	}
	require.NoError(t, channel.Check(notification("")), "a device does not matter")
	for _, token := range []string{"", "with space", "line\nbreak", strings.Repeat("x", 4097)} {
		result := channel.Notify(t.Context(), notification(token))
		require.Equal(t, notifier.ReasonMisaddressed, result.Reason)
	}
	require.Equal(t, notifier.ReasonNoDevice, channel.Notify(t.Context(), notifier.Notification{}).Reason)
	require.Empty(t, s.Messages())
}

// Connections are few, however many pushes run.
func TestPushesShareConnections(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	var all sync.WaitGroup
	var failed atomic.Int64
	for range 500 {
		all.Go(func() {
			if channel.Notify(t.Context(), notification("token-1")).Status != notifier.Delivered {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	require.Zero(t, failed.Load())
	require.Len(t, s.Messages(), 500)
	require.Equal(t, 1, s.Tokens(), "one renewal for all")
	require.LessOrEqual(t, s.Connections(), 4, "that for the token, and 250 pushes on each of the others")
}
