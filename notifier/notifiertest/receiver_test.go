package notifiertest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// post sends body to the receiver and returns what it answers.
func post(t *testing.T, r *notifiertest.Receiver, path, body string) (status int, text string) {
	t.Helper()
	status, text, err := try(t, r, path, body)
	require.NoError(t, err)
	return status, text
}

func try(t *testing.T, r *notifiertest.Receiver, path, body string) (status int, text string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read), err
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	receiver := notifiertest.NewReceiver(func() time.Time { return at })
	t.Cleanup(receiver.Close)
	receiver.Script(notifiertest.Answer{Status: http.StatusServiceUnavailable, Body: "busy"})
	receiver.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusAccepted, Body: r.URI}
	})

	status, text := post(t, receiver, "/a?b=c", `{"id":"1","user":"alice","attempt":1}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "busy", text)
	status, text = post(t, receiver, "/a?b=c", "not JSON")
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, "/a?b=c", text)
	receiver.AnswerWith(nil)
	status, _ = post(t, receiver, "/", "")
	require.Equal(t, http.StatusOK, status)

	requests, err := receiver.Wait(t.Context(), 3)
	require.NoError(t, err)
	require.Len(t, requests, 3)
	require.Equal(t, at, requests[0].Arrived)
	require.Equal(t, http.MethodPost, requests[0].Method)
	payload, err := requests[0].Payload()
	require.NoError(t, err)
	require.Equal(t, notifier.Payload{ID: "1", User: "alice", Attempt: 1}, payload)
	_, err = requests[1].Payload()
	require.Error(t, err)
}

func TestReceiverDelay(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	receiver.Script(notifiertest.Answer{Delay: 30 * time.Millisecond})
	begin := time.Now()
	post(t, receiver, "/", "")
	require.GreaterOrEqual(t, time.Since(begin), 30*time.Millisecond)
}

func TestReceiverClosesWhileItDelays(t *testing.T) {
	t.Parallel()
	receiver := notifiertest.NewReceiver(time.Now)
	receiver.Script(notifiertest.Answer{Delay: time.Hour})
	arrived := make(chan error, 1)
	go func() {
		_, err := receiver.Wait(t.Context(), 1)
		receiver.Close()
		receiver.Close() // as a deferred second one may
		arrived <- err
	}()
	_, _, err := try(t, receiver, "/", "")
	require.ErrorIs(t, err, io.EOF, "what was delayed is not answered")
	require.NoError(t, <-arrived)
}
