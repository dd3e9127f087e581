package apns_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
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

// firstMinute is a time at which programs have just begun to use a new provider token.
func firstMinute() time.Time { return time.Now().Truncate(35 * time.Minute).Add(time.Minute) }

func TestAProviderTokenIsUsedFor35Minutes(t *testing.T) {
	t.Parallel()
	now := firstMinute()
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	now = now.Add(35*time.Minute - time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 1)
	now = now.Add(time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 2)
	for range 100 {
		now = now.Add(7 * time.Minute)
		delivered(t, a, order(device())) // the server refuses what is too old, and what is renewed too often
	}
	require.Len(t, tokens(s), 2+100/5)
}

// Apple counts how often it sees a new token, and knows nothing of workers and commands.
func TestAllProgramsUseTheSameProviderToken(t *testing.T) {
	t.Parallel()
	now := firstMinute()
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	first := open(t, s, apns.Config{Now: clock})
	for range 10 {
		delivered(t, first, order(device()))
		now = now.Add(13 * time.Minute)
		delivered(t, open(t, s, apns.Config{Now: clock}), order(device()))
		delivered(t, first, order(device()))
	}
	require.Len(t, tokens(s), 1+130/35)
}

func TestOneProviderTokenForAll(t *testing.T) {
	t.Parallel()
	s := apple(t, time.Now, 2)
	a := open(t, s, apns.Config{})
	var asked atomic.Int32
	full := make(chan struct{}) // nothing is answered before all connections are used
	s.AnswerWith(func() notifiertest.APNsAnswer {
		if asked.Add(1) == apns.DefaultConnections {
			close(full)
		}
		<-full
		return notifiertest.APNsAnswer{}
	})
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
	begin := firstMinute()
	var passed atomic.Int64 // time since begin
	clock := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	expired := notifiertest.APNsAnswer{Status: http.StatusForbidden, Reason: "ExpiredProviderToken"}

	passed.Store(int64(35*time.Minute - time.Second))
	s.Script(expired)
	result := send(t, a, order(device()))
	require.Equal(t, notifier.SlowDown, result.Status, "it is the present one: our clock is wrong")
	require.Equal(t, notifier.PauseMessage, result.Pause)
	require.ErrorContains(t, result.Err, "clock")

	// A push that was signed just before the time of the next token is sent again with that.
	asked := 0
	s.AnswerWith(func() notifiertest.APNsAnswer {
		passed.Store(int64(35 * time.Minute))
		if asked++; asked == 1 {
			return expired
		}
		return notifiertest.APNsAnswer{}
	})
	delivered(t, a, order(device()))
	require.Equal(t, 2, asked)
	require.Len(t, tokens(s), 2)
}

// While a machine sleeps its clock may stand still: the token is older than it seems.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := apple(t, func() time.Time { return now }, 100)
	late := open(t, s, apns.Config{Now: func() time.Time { return now.Add(-2 * time.Hour) }})
	result := send(t, late, order(device()))
	require.Equal(t, notifier.SlowDown, result.Status, "other workers' clocks may be right")
	require.EqualError(t, result.Err, "Apple's server answered with HTTP status 403, ExpiredProviderToken: this worker's clock may be wrong")
	early := open(t, s, apns.Config{Now: func() time.Time { return now.Add(2 * time.Hour) }})
	require.Equal(t, notifier.Refused, send(t, early, order(device())).Status)
	require.Empty(t, s.Pushes())
}

// A program began to push just before the time of the next token: Apple has seen the present one
// for a few minutes only, and refuses another. The present one is used again, at once.
func TestATokenThatAppleSeesTooSoonWaits(t *testing.T) {
	t.Parallel()
	now := firstMinute().Add(30 * time.Minute)
	clock := func() time.Time { return now }
	s := apple(t, clock, 100)
	a, other := open(t, s, apns.Config{Now: clock}), open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	now = now.Add(5 * time.Minute) // a new token
	for range 3 {
		delivered(t, a, order(device()))
		delivered(t, other, order(device())) // it never used the former one
		now = now.Add(5 * time.Minute)
	}
	require.Len(t, tokens(s), 1)
	now = now.Add(10 * time.Minute)
	for range 20 {
		delivered(t, a, order(device()))
		delivered(t, other, order(device()))
		now = now.Add(time.Minute)
	}
	require.Len(t, tokens(s), 2)
}

// usedFor34Minutes returns a channel whose provider token is 34 minutes old by a clock.
func usedFor34Minutes(t *testing.T, now *time.Time) (*notifiertest.APNsServer, *apns.Notifier) {
	t.Helper()
	clock := func() time.Time { return *now }
	s := apple(t, clock, 100)
	a := open(t, s, apns.Config{Now: clock})
	delivered(t, a, order(device()))
	*now = now.Add(34 * time.Minute)
	return s, a
}

func tooManyTokens() notifiertest.APNsAnswer {
	return notifiertest.APNsAnswer{Status: http.StatusTooManyRequests, Reason: "TooManyProviderTokenUpdates"}
}

// A token is held at most until it expires: then the next one is used.
func TestATokenIsNotHeldUntilItExpires(t *testing.T) {
	t.Parallel()
	now := firstMinute()
	s, a := usedFor34Minutes(t, &now)
	for range 40 {
		s.Script(tooManyTokens())
		_ = send(t, a, order(device()))
		now = now.Add(30 * time.Second)
	}
	for range 60 {
		delivered(t, a, order(device()))
		now = now.Add(time.Minute)
	}
}

func TestTooManyProviderTokens(t *testing.T) {
	t.Parallel()
	now := firstMinute()
	s, a := usedFor34Minutes(t, &now)
	s.Script(tooManyTokens())
	result := send(t, a, order(device()))
	require.Equal(t, notifier.SlowDown, result.Status)
	require.Equal(t, notifier.PauseMessage, result.Pause)
	now = now.Add(20*time.Minute - time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 1, "it is not renewed now, though it is 55 minutes old")
	now = now.Add(time.Second)
	delivered(t, a, order(device()))
	require.Len(t, tokens(s), 2)
}
