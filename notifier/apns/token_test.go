package apns_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// tokens returns the different provider tokens of the pushes so far, in order.
func tokens(s *notifiertest.APNsServer) []string {
	var all []string
	for _, push := range s.Pushes() {
		all = append(all, push.Header.Get("Authorization"))
	}
	return slices.Compact(all)
}

func TestAProviderTokenIsUsedFor50Minutes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	now = now.Add(50*time.Minute - time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 1)
	now = now.Add(time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 2)
	for range 100 {
		now = now.Add(7 * time.Minute)
		delivered(t, a, order(device())) // the server refuses what is too old, and what is renewed too often
	}
	require.Len(t, tokens(s), 2+100/8)
}

func TestOneProviderTokenForAll(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 2)
	a := open(t, s, apns.Config{})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() { delivered(t, a, order(device())) })
	}
	all.Wait()
	require.Len(t, tokens(s), 1)
	made, _ := s.Connections()
	require.Equal(t, apns.DefaultConnections, made, "streams were few")
}

func TestAnExpiredProviderTokenIsRenewed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	expired := notifiertest.APNsAnswer{Status: http.StatusForbidden, Reason: "ExpiredProviderToken"}

	now = now.Add(20*time.Minute - time.Second)
	s.Script(expired)
	result := send(t, a, order(device()))
	require.Equal(t, notifier.Refused, result.Status, "too young: a clock is wrong")
	require.ErrorContains(t, result.Err, "clock")

	now = now.Add(time.Second)
	s.Script(expired)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 2)

	now = now.Add(20 * time.Minute)
	s.Script(expired, expired)
	require.Equal(t, notifier.Refused, send(t, a, order(device())).Status, "sent again once")
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 3)
}

// While a machine sleeps its clock may stand still: the token is older than it seems.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := apple(t, func() time.Time { return now }, 100)
	late := open(t, s, apns.Config{Now: func() time.Time { return now.Add(-2 * time.Hour) }})
	result := send(t, late, order(device()))
	require.Equal(t, notifier.Refused, result.Status)
	require.EqualError(t, result.Err, "Apple's server answered with HTTP status 403, ExpiredProviderToken: is this machine's clock right?")
	early := open(t, s, apns.Config{Now: func() time.Time { return now.Add(2 * time.Hour) }})
	require.Equal(t, notifier.Refused, send(t, early, order(device())).Status)
	require.Empty(t, s.Pushes())
}

func TestTooManyProviderTokens(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	now = now.Add(44 * time.Minute)
	s.Script(notifiertest.APNsAnswer{Status: http.StatusTooManyRequests, Reason: "TooManyProviderTokenUpdates"})
	result := send(t, a, order(device()))
	require.Equal(t, notifier.SlowDown, result.Status)
	require.Equal(t, notifier.PauseMessage, result.Pause)
	now = now.Add(15 * time.Minute)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 1, "it is not renewed now, though it is 59 minutes old")
	now = now.Add(5 * time.Minute)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 2)

	// Another worker with the same key has just started.
	other := open(t, s, apns.Config{Now: clock})
	result = send(t, other, order(device()))
	require.Equal(t, notifier.SlowDown, result.Status, "%v", result.Err)
	require.Equal(t, notifier.ReasonRateLimited, result.Reason)
	now = now.Add(20 * time.Minute)
	delivered(t, other, order(device()))
}
