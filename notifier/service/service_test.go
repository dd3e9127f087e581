package service_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/notifier/service"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) {
		http.DefaultClient.CloseIdleConnections() // the library's
	}))
}

const token = "AFKeRiTToKen.17" // as Gotify's look

func receiver(t *testing.T, status int) *notifiertest.Receiver {
	t.Helper()
	r := notifiertest.NewReceiver(time.Now)
	t.Cleanup(r.Close)
	r.AnswerWith(func(request notifiertest.Request) notifiertest.Answer {
		if status != http.StatusOK { // a service may repeat what it refuses
			return notifiertest.Answer{Status: status, Body: string(request.Body)}
		}
		return notifiertest.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id": 1}`}
	})
	return r
}

func open(t *testing.T, target string, r *notifiertest.Receiver) *service.Notifier {
	t.Helper()
	channel, err := service.New(service.Config{URL: strings.Replace(target, "HOST", strings.TrimPrefix(r.URL(), "http://"), 1)})
	require.NoError(t, err)
	return channel
}

// The services that can be on one's own machine.
func services() map[string]string {
	return map[string]string{
		"gotify":  "gotify://HOST/" + token + "?disabletls=yes",
		"ntfy":    "ntfy://robot:" + token + "@HOST/topic?scheme=http",
		"generic": "generic://HOST/hook?disabletls=yes&template=json&@X-Token=" + token,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, target := range services() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			notifiertest.Run(t, notifiertest.Suite{
				New: func(t *testing.T) notifier.Notifier { t.Helper(); return open(t, target, receiver(t, http.StatusOK)) },
				Failing: func(t *testing.T) notifier.Notifier {
					t.Helper()
					return open(t, target, receiver(t, http.StatusBadRequest))
				},
				Stuck: func(t *testing.T) notifier.Notifier {
					t.Helper()
					r := receiver(t, http.StatusOK)
					r.AnswerWith(func(notifiertest.Request) notifiertest.Answer { return notifiertest.Answer{Delay: time.Hour} })
					return open(t, target, r)
				},
				Secrets: []string{token, "127.0.0.1", "topic"},
			})
		})
	}
}

func message() notifier.Notification {
	return notifier.Notification{ID: "17", User: "alice", Title: "Your order", Body: "It is on its way", ClickURL: "https://shop.example/17", Attempt: 1}
}

func TestWhatServicesGet(t *testing.T) {
	t.Parallel()
	got := func(name string, n notifier.Notification) notifiertest.Request {
		t.Helper()
		r := receiver(t, http.StatusOK)
		result := open(t, services()[name], r).Notify(t.Context(), n)
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
		require.Len(t, r.Requests(), 1)
		return r.Requests()[0]
	}
	var shown map[string]any
	require.NoError(t, json.Unmarshal(got("gotify", message()).Body, &shown))
	require.Equal(t, "Your order", shown["title"])
	require.Equal(t, "It is on its way\nhttps://shop.example/17", shown["message"])

	request := got("ntfy", message())
	require.Equal(t, "Your order", request.Header.Get("Title"))
	require.Equal(t, "https://shop.example/17", request.Header.Get("Click"))
	require.Equal(t, "It is on its way", string(request.Body))

	n := message()
	n.Body = ""
	require.Equal(t, "Your order", string(got("ntfy", n).Body), "a service needs a text")
	require.NoError(t, json.Unmarshal(got("generic", message()).Body, &shown))
	require.Equal(t, "Your order", shown["title"])
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	for name, target := range services() {
		channel, err := service.New(service.Config{URL: strings.Replace(target, "HOST", address, 1)})
		require.NoError(t, err)
		result := channel.Notify(t.Context(), message())
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.ReasonUnreachable, result.Reason, name)
	}
}

// Sends that take too long do not pile up.
func TestSendsAreBounded(t *testing.T) {
	t.Parallel()
	r := receiver(t, http.StatusOK)
	r.AnswerWith(func(notifiertest.Request) notifiertest.Answer { return notifiertest.Answer{Delay: time.Hour} })
	channel, err := service.New(service.Config{
		URL: strings.Replace(services()["generic"], "HOST", strings.TrimPrefix(r.URL(), "http://"), 1), Timeout: 250 * time.Millisecond,
	})
	require.NoError(t, err)
	for range 16 {
		require.Equal(t, notifier.ReasonTimeout, channel.Notify(t.Context(), message()).Reason)
	}
	result := channel.Notify(t.Context(), message())
	require.Equal(t, notifier.ReasonUnreachable, result.Reason, "nothing was sent")
	require.False(t, result.Uncertain())
	requests, err := r.Wait(t.Context(), 16)
	require.NoError(t, err)
	require.Len(t, requests, 16)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"", "hunter2", "https://hunter2@example.com", "logger://", "://hunter2", "slack://hunter2", "matrix://alice:hunter2@", "telegram://hunter2@%zz"} {
		_, err := service.New(service.Config{URL: target, Timeout: -1})
		require.ErrorAs(t, err, new(*notifier.InvalidError), target)
		require.ErrorContains(t, err, "push_url ", target)
		require.ErrorContains(t, err, "push_timeout")
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := service.New(service.Config{URL: "telegrm://hunter2@telegram"})
	require.ErrorContains(t, err, `push_url "telegrm://…" is not allowed: use a URL with one of these schemes: bark, `)
	require.ErrorContains(t, err, ", telegram, ")
	require.NotContains(t, err.Error(), "logger")
}

// Whatever prints a channel prints no part of its URL.
func TestNothingPrintsTheURL(t *testing.T) {
	t.Parallel()
	r := receiver(t, http.StatusOK)
	for name, target := range services() {
		channel := open(t, target, r)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			require.NotContains(t, fmt.Sprintf(verb, channel), token, name)
			require.NotContains(t, fmt.Sprintf(verb, *channel), token, name)
		}
	}
}

// Matrix logs in with a password. A worker starts while the server is away.
func TestMatrixLogsInWithTheFirstMessage(t *testing.T) {
	t.Parallel()
	r := notifiertest.NewReceiver(time.Now)
	t.Cleanup(r.Close)
	r.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		body := `{"flows": [{"type": "m.login.password"}], "access_token": "t", "joined_rooms": ["!a:h"], "event_id": "1"}`
		return notifiertest.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
	})
	channel := open(t, "matrix://alice:"+token+"@HOST/?disabletls=yes", r)
	require.Empty(t, r.Requests())
	for range 2 {
		result := channel.Notify(t.Context(), message())
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	}
	require.NoError(t, channel.Close())
	require.NotEmpty(t, r.Requests())

	r.AnswerWith(func(notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusForbidden}
	})
	result := channel.Notify(t.Context(), message())
	require.Equal(t, notifier.ReasonUnavailable, result.Reason)
	require.NotContains(t, result.Err.Error(), token)
}

// A broker ends a connection when another one has the same client id.
func TestMQTTHasOneConnection(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	channel, err := service.New(service.Config{
		URL: "mqtt://" + listener.Addr().String() + "/topic", Timeout: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	require.Equal(t, notifier.ReasonTimeout, channel.Notify(t.Context(), message()).Reason, "it does not answer")
	result := channel.Notify(t.Context(), message())
	require.Equal(t, notifier.ReasonUnreachable, result.Reason, "the connection is in use")
}
