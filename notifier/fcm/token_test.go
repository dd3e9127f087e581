package fcm_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func delivered(t *testing.T, channel *fcm.Notifier) {
	t.Helper()
	result := channel.Notify(t.Context(), notification("token-1"))
	require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
}

// A token is renewed five minutes before its end, by one request, and nobody waits for it.
func TestATokenIsRenewedEarlyAndOnce(t *testing.T) {
	t.Parallel()
	at := newClock()
	s := newServer(t, at.Now)
	channel := open(t, s, fcm.Config{Now: at.Now})
	delivered(t, channel)
	at.Add(54 * time.Minute)
	delivered(t, channel)
	require.Equal(t, 1, s.Tokens())

	at.Add(90 * time.Second)
	held := make(chan struct{})
	s.GrantWith(func() notifiertest.Answer {
		<-held
		return notifiertest.Answer{Status: http.StatusServiceUnavailable}
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { delivered(t, channel) })
	}
	all.Wait() // while the renewal hangs
	close(held)
	s.GrantWith(nil)
	at.Add(2 * time.Second)
	require.Eventually(t, func() bool {
		delivered(t, channel)
		at.Add(2 * time.Second)
		return s.Tokens() == 2
	}, 10*time.Second, time.Millisecond)
	at.Add(time.Minute)
	delivered(t, channel)
	require.Equal(t, 2, s.Tokens())
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	delivered(t, channel)
	s.Revoke()
	delivered(t, channel)
	require.Equal(t, 2, s.Tokens())

	s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusUnauthorized, Body: `{"error":{"code":401,"status":"UNAUTHENTICATED"}}`}
	})
	result := channel.Notify(t.Context(), notification("token-1"))
	require.Equal(t, notifier.Refused, result.Status)
	require.Equal(t, notifier.ReasonUnauthorized, result.Reason)
	require.Equal(t, 3, s.Tokens(), "a new one once, and no more")
}

func TestAnswersOfTheTokenServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		answer notifiertest.Answer
		status notifier.Status
		reason notifier.Reason
		says   string
	}{
		{
			notifiertest.Answer{Status: 400, Body: `{"error":"invalid_grant","error_description":"Invalid JWT: canary"}`},
			notifier.Refused, notifier.ReasonUnauthorized, "the token server answered with HTTP status 400, invalid_grant",
		},
		{notifiertest.Answer{Status: 401}, notifier.Refused, notifier.ReasonUnauthorized, "the token server answered with HTTP status 401"},
		{notifiertest.Answer{Status: 403, Body: "canary"}, notifier.Refused, notifier.ReasonUnauthorized, "the token server answered with HTTP status 403"},
		{notifiertest.Answer{Status: 429}, notifier.Retry, notifier.ReasonUnavailable, "the token server answered with HTTP status 429"},
		{notifiertest.Answer{Status: 500}, notifier.Retry, notifier.ReasonUnavailable, "the token server answered with HTTP status 500"},
		{notifiertest.Answer{Status: 200, Body: "{}"}, notifier.Retry, notifier.ReasonUnavailable, "the answer of the token server has no token"},
		{notifiertest.Answer{Status: 200, Body: `{"access_token":"a\r\nb"}`}, notifier.Retry, notifier.ReasonUnavailable, "the answer of the token server has no token"},
	} {
		s := newServer(t, time.Now)
		s.GrantWith(func() notifiertest.Answer { return row.answer })
		result := open(t, s, fcm.Config{}).Notify(t.Context(), notification("token-1"))
		require.NoError(t, result.Validate())
		require.Equal(t, row.status, result.Status)
		require.Equal(t, row.reason, result.Reason)
		require.EqualError(t, result.Err, row.says)
		require.False(t, result.Uncertain())
	}
}

func TestAKeyThatTheServerDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	wrong, err := s.WrongCredentials()
	require.NoError(t, err)
	channel := open(t, s, fcm.Config{Credentials: wrong})
	require.Equal(t, notifier.Refused, channel.Notify(t.Context(), notification("token-1")).Status)
	require.Equal(t, notifier.Refused, channel.Probe(t.Context()).Status)
}

// A token server that is away sent nothing: that is certain.
func TestATokenServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := newServer(t, time.Now)
	channel := open(t, s, fcm.Config{})
	s.Close()
	result := channel.Notify(t.Context(), notification("token-1"))
	require.Equal(t, notifier.Retry, result.Status)
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
}

// While the token server fails, not every push asks it.
func TestAFailureAnswersForASecond(t *testing.T) {
	t.Parallel()
	at := newClock()
	s := newServer(t, at.Now)
	asked := make(chan struct{}, 100)
	s.GrantWith(func() notifiertest.Answer {
		asked <- struct{}{}
		return notifiertest.Answer{Status: 503}
	})
	channel := open(t, s, fcm.Config{Now: at.Now})
	for range 10 {
		require.Equal(t, notifier.Retry, channel.Notify(t.Context(), notification("token-1")).Status)
	}
	require.Len(t, asked, 1)
	at.Add(time.Second)
	require.Equal(t, notifier.Retry, channel.Notify(t.Context(), notification("token-1")).Status)
	require.Len(t, asked, 2)
}
