package channels_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func notification() notifier.Notification {
	return notifier.Notification{
		ID: "1", User: "alice", Title: "Hello", Attempt: 1,
		IdempotencyKey: notifier.IdempotencyKey("", "alice", "1"),
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	for _, target := range []string{config.LogTarget, "LOG:"} {
		var out bytes.Buffer
		// A secret in the environment must not keep anybody from trying log:.
		channel, err := channels.OpenTarget(config.Config{PushURL: target, PushSecret: "whatever"}, time.Now, &out)
		require.NoError(t, err)
		require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), notification()).Status)
		require.Contains(t, out.String(), `"user":"alice"`)
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	var out bytes.Buffer
	channel, err := channels.OpenTarget(config.Config{PushURL: receiver.URL() + "/deliver", PushSecret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, time.Now, &out)
	require.NoError(t, err)
	require.Equal(t, notifier.Delivered, channel.Notify(t.Context(), notification()).Status)
	requests := receiver.Requests()
	require.Len(t, requests, 1)
	require.NotEmpty(t, requests[0].Header.Get("Webhook-Signature"))
	require.Empty(t, out.String())
}

func TestServices(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	host := strings.TrimPrefix(receiver.URL(), "http://")
	for _, target := range []string{"generic://" + host + "/hook?disabletls=yes", "GENERIC+HTTP://" + host + "/hook"} {
		channel, err := channels.OpenTarget(config.Config{PushURL: target, PushSecret: "whatever"}, time.Now, new(bytes.Buffer))
		require.NoError(t, err)
		result := channel.Notify(t.Context(), notification())
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	}
	require.Len(t, receiver.Requests(), 2)

	_, err := channels.OpenTarget(config.Config{PushURL: "generic://" + host, PushTimeout: -1}, time.Now, new(bytes.Buffer))
	require.ErrorContains(t, err, "push_timeout")
}

func TestTimeoutOfAWebhook(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	receiver.AnswerWith(func(notifiertest.Request) notifiertest.Answer { return notifiertest.Answer{Delay: time.Hour} })
	channel, err := channels.OpenTarget(config.Config{PushURL: receiver.URL(), PushTimeout: 50 * time.Millisecond}, time.Now, nil)
	require.NoError(t, err)
	require.Equal(t, notifier.ReasonTimeout, channel.Notify(t.Context(), notification()).Reason)
}

func TestProxies(t *testing.T) {
	proxy := notifiertest.NewReceiver(time.Now)
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL())
	t.Setenv("NO_PROXY", "direct.invalid")
	for _, row := range []struct {
		target, setting string
		proxied         bool
	}{
		{"http://provider.invalid/", "", false},
		{"http://provider.invalid/", "environment", true},
		{"http://direct.invalid/", "environment", false},
		{"http://direct.invalid/", proxy.URL(), true},
	} {
		channel, err := channels.OpenTarget(config.Config{PushURL: row.target, PushTimeout: 2 * time.Second, PushHeaders: "X-Tenant: shop", PushProxy: row.setting}, time.Now, new(bytes.Buffer))
		require.NoError(t, err)
		before := len(proxy.Requests())
		require.Equal(t, row.proxied, channel.Notify(t.Context(), notification()).Status == notifier.Delivered, "%+v", row)
		if row.proxied {
			require.Equal(t, "shop", proxy.Requests()[before].Header.Get("X-Tenant"))
		}
	}
	for _, setting := range []string{"yes", "ftp://proxy.example.com", "http://", "http://robot:s3cret@proxy.example.com:x/"} {
		_, err := channels.OpenTarget(config.Config{PushURL: "http://provider.invalid/", PushProxy: setting}, time.Now, new(bytes.Buffer))
		require.ErrorContains(t, err, "push_proxy")
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestInvalidTarget(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ target, shown string }{
		{"log", "log"},
		{"log:file.txt", "log…"},
		{"log://", "log…"},
		{"stdout", "stdout"},
		{"push.example.com/TOKEN", "push.example.com…"},
		{"ftp://robot:TOKEN@push.example.com", "ftp://…"},
		{"telegrm://TOKEN@telegram?chats=1", "telegrm://…"},
		{"slack://TOKEN", "slack://…"},
		{"ntfy://TOKEN.example.com/%zz", "ntfy…"},
		{"robot:TOKEN@push.example.com", "…"},
		{"https:/push.example.com/TOKEN", "https…"},
		{"https://push.example.com:99999/TOKEN", "https://push.example.com:99999/…"},
	} {
		channel, err := channels.OpenTarget(config.Config{PushURL: row.target}, time.Now, new(bytes.Buffer))
		require.Nil(t, channel, row.target)
		var invalid *notifier.InvalidError
		require.ErrorAs(t, err, &invalid, row.target)
		require.Equal(t, "push_url", invalid.Field)
		require.Equal(t, row.shown, invalid.Value, row.target)
		require.NotContains(t, err.Error(), "TOKEN")
		if notifier.ServiceScheme(row.target) == "" {
			require.Contains(t, invalid.Want, "http")
		}
	}
	_, err := channels.OpenTarget(config.Config{PushURL: "telegrm://TOKEN@telegram"}, time.Now, new(bytes.Buffer))
	require.EqualError(t, err, `push_url "telegrm://…" is not allowed: use "log:", an http or https URL such as `+
		`https://push.example.com/deliver, or the URL of a service with one of these schemes: `+strings.Join(notifier.ServiceSchemes(), ", "))
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	channel, err := channels.OpenTarget(config.Config{PushURL: "http://127.0.0.1:1", PushSecret: "s3cret", PushTimeout: -time.Second}, time.Now, nil)
	require.Nil(t, channel)
	require.ErrorContains(t, err, "push_secret")
	require.ErrorContains(t, err, `push_timeout "-1s"`)
	require.NotContains(t, err.Error(), "s3cret")
	_, err = channels.OpenTarget(config.Config{PushURL: config.LogTarget}, time.Now, nil)
	require.Error(t, err, "a writer is missing")
}

func TestEmailIsPrintedOnTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	announcer, err := channels.OpenNotices(t.Context(), config.Config{}, time.Now, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	result := announcer.Announce(t.Context(), "ops@example.com", notifiertest.Notices()["account"])
	require.Equal(t, notifier.Delivered, result.Status)
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "ops@example.com", line["to"])

	// A store worth keeping has mail wait for a server instead.
	announcer, err = channels.OpenNotices(t.Context(), config.Config{RedisURL: "redis://h"}, time.Now, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	result = announcer.Announce(t.Context(), "ops@example.com", notifiertest.Notices()["account"])
	require.ErrorIs(t, result.Err, notifier.ErrNoChannel)
	require.NoError(t, announcer.Close())
}
