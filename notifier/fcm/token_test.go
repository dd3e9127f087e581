package fcm_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// many delivers at the same time, and requires that all succeed.
func many(t *testing.T, f *fcm.Notifier, count int) {
	t.Helper()
	results := make([]notifier.Result, count)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = f.Notify(t.Context(), order(phone)) })
	}
	all.Wait()
	for _, r := range results {
		require.Equal(t, notifier.Delivered, r.Status, "%v", r.Err)
	}
}

func TestATokenIsRenewedEarlyAndOnce(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := server(t, c.Now)
	f := open(t, s, fcm.Config{Now: c.Now})
	many(t, f, 64)
	require.Equal(t, 1, s.Exchanges(), "one for all")
	first := s.Messages()[0].Bearer

	c.Add(55*time.Minute - time.Second)
	many(t, f, 8)
	require.Equal(t, 1, s.Exchanges())

	// While it is renewed the old one is used.
	renewing, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.AnswerTokensWith(func() notifiertest.Answer {
		once.Do(func() { close(renewing) })
		<-goOn
		return notifiertest.Answer{}
	})
	c.Add(time.Second)
	many(t, f, 64)
	<-renewing
	for _, m := range s.Messages() {
		require.Equal(t, first, m.Bearer)
	}
	close(goOn)
	require.Eventually(t, func() bool {
		many(t, f, 1)
		sent := s.Messages()
		return sent[len(sent)-1].Bearer != first
	}, time.Minute, time.Millisecond)
	require.Equal(t, 2, s.Exchanges())

	s.AnswerTokensWith(nil)
	c.Add(2 * time.Hour)
	many(t, f, 64)
	require.Equal(t, 3, s.Exchanges(), "it ended while nothing was sent")
}

// A renewal that fails early changes nothing, and is not tried with every push.
func TestAnEarlyRenewalFails(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := server(t, c.Now)
	f := open(t, s, fcm.Config{Now: c.Now})
	many(t, f, 1)
	s.AnswerTokensWith(func() notifiertest.Answer { return notifiertest.Answer{Status: http.StatusBadGateway} })
	c.Add(56 * time.Minute)
	many(t, f, 1)
	require.Eventually(t, func() bool { return s.Exchanges() == 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, f.Close()) // it waits for a renewal
	many(t, f, 20)
	require.Equal(t, 2, s.Exchanges())
}

func TestATokenThatIsRefusedIsRenewedOnce(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	many(t, f, 1)
	s.Revoke()
	many(t, f, 1)
	require.Equal(t, 2, s.Exchanges())
	s.Revoke()
	many(t, f, 32)
	require.Equal(t, 3, s.Exchanges(), "one for all")

	s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer {
		return notifiertest.Answer{Status: http.StatusUnauthorized}
	})
	before := len(s.Messages())
	r := push(t, f, order(phone))
	require.Equal(t, notifier.Refused, r.Status)
	require.Equal(t, notifier.ReasonUnauthorized, r.Reason)
	require.Equal(t, 4, s.Exchanges())
	require.Len(t, s.Messages(), before+2)
}

func TestWithoutATokenNothingIsSent(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	for _, row := range []struct {
		name   string
		answer notifiertest.Answer
		want   notifier.Status
		reason notifier.Reason
		err    string
	}{
		{
			"a wrong key",
			notifiertest.Answer{Status: 400, Body: `{"error": "invalid_grant", "error_description": "secret"}`},
			notifier.Refused, notifier.ReasonUnauthorized, "status 400, invalid_grant",
		},
		{"no such account", notifiertest.Answer{Status: 401, Body: `{"error": "secret"}`}, notifier.Refused, notifier.ReasonUnauthorized, "status 401"},
		{"forbidden", notifiertest.Answer{Status: 403}, notifier.Refused, notifier.ReasonUnauthorized, "status 403"},
		{"a wrong path", notifiertest.Answer{Status: 404}, notifier.Refused, notifier.ReasonUnauthorized, "status 404"},
		{"a redirect", notifiertest.Answer{Status: 302, Header: http.Header{"Location": {"/token"}}}, notifier.Refused, notifier.ReasonMisaddressed, "redirect"},
		{"another page", notifiertest.Answer{Status: 200, Body: "<html>secret"}, notifier.Refused, notifier.ReasonMisaddressed, "no token"},
		{"a token that is none", notifiertest.Answer{Status: 200, Body: `{"access_token": "secret\r\nx: y"}`}, notifier.Refused, notifier.ReasonMisaddressed, "no token"},
		{"too many", notifiertest.Answer{Status: 429}, notifier.SlowDown, notifier.ReasonRateLimited, "status 429"},
		{"a failure", notifiertest.Answer{Status: 503, Body: "secret"}, notifier.SlowDown, notifier.ReasonUnavailable, "status 503"},
		{"no answer", notifiertest.Answer{Delay: time.Hour}, notifier.Retry, notifier.ReasonUnreachable, "no answer from the token endpoint"},
	} {
		s.AnswerTokensWith(func() notifiertest.Answer { return row.answer })
		timeout := time.Minute
		if row.answer.Delay > 0 {
			timeout = 100 * time.Millisecond
		}
		f := open(t, s, fcm.Config{Timeout: timeout})
		r := push(t, f, order(phone))
		require.Equal(t, row.want, r.Status, "%s: %v", row.name, r.Err)
		require.Equal(t, row.reason, r.Reason, row.name)
		require.ErrorContains(t, r.Err, row.err, row.name)
		require.Equal(t, row.want, f.Probe(t.Context()).Status, row.name)
	}
	gone := open(t, s, fcm.Config{Credentials: edited(t, s, map[string]any{"token_uri": "http://127.0.0.1:1/secret"})})
	r := push(t, gone, order(phone))
	require.Equal(t, notifier.Retry, r.Status)
	require.Equal(t, notifier.ReasonUnreachable, r.Reason)
	require.Empty(t, s.Messages())
}

// The server verifies what Google's does.
func TestWhatTheTokenEndpointRefuses(t *testing.T) {
	t.Parallel()
	s, other := server(t, time.Now), server(t, time.Now)
	credentials, err := other.Credentials()
	require.NoError(t, err)
	for name, c := range map[string]fcm.Config{
		"another key":        {Credentials: edited(t, other, map[string]any{"token_uri": s.URL() + "/token"})},
		"another account":    {Credentials: edited(t, s, map[string]any{"client_email": "secret@example.com"})},
		"another key's id":   {Credentials: edited(t, s, map[string]any{"private_key_id": "secret"})},
		"a token of other's": {Credentials: credentials}, // its certificate is the same
		"an unknown project": {Credentials: edited(t, s, map[string]any{"project_id": "another-shop"})},
	} {
		r := push(t, open(t, s, c), order(phone))
		require.Equal(t, notifier.Refused, r.Status, "%s: %v", name, r.Err)
	}
	for _, off := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		r := push(t, open(t, s, fcm.Config{Now: func() time.Time { return time.Now().Add(off) }}), order(phone))
		require.Equal(t, notifier.SlowDown, r.Status, "other workers' clocks may be right")
		require.Equal(t, notifier.PauseMessage, r.Pause)
		require.EqualError(t, r.Err, "no token: the token endpoint answered with HTTP status 400, invalid_grant: this worker's clock may be wrong")
	}
	require.Empty(t, s.Messages())
}

// A push that is called off does not wait for the token, and Close ends what it waited for.
func TestAPushIsCalledOffWhileATokenIsRenewed(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	asked := make(chan struct{}, 1)
	s.AnswerTokensWith(func() notifiertest.Answer {
		asked <- struct{}{}
		return notifiertest.Answer{Delay: time.Hour}
	})
	f := open(t, s, fcm.Config{Timeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	r := f.Notify(ctx, order(phone))
	require.NoError(t, r.Validate())
	require.Equal(t, notifier.Retry, r.Status)
	require.Equal(t, notifier.ReasonUnreachable, r.Reason)
	require.ErrorIs(t, r.Err, context.Canceled)
	require.NoError(t, f.Close())
	require.Equal(t, notifier.ReasonUnreachable, push(t, f, order(phone)).Reason, "it is closed")
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := server(t, time.Now)
	f := open(t, s, fcm.Config{})
	require.Equal(t, notifier.Result{Status: notifier.Delivered}, f.Probe(t.Context()))
	require.True(t, s.Messages()[0].ValidateOnly)
	require.Equal(t, "topic sendlimit-probe", s.Messages()[0].Target)
	for status, want := range map[int]notifier.Status{403: notifier.Refused, 404: notifier.Refused, 500: notifier.Retry} {
		s.AnswerWith(func(notifiertest.FCMMessage) notifiertest.Answer { return notifiertest.Answer{Status: status} })
		r := f.Probe(t.Context())
		require.NoError(t, r.Validate())
		require.Equal(t, want, r.Status)
	}
	for _, m := range s.Messages() {
		require.True(t, m.ValidateOnly)
	}
}
