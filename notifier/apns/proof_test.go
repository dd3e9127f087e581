package apns_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// badDay returns answers of a server on a bad day, the same for each seed.
func badDay(seed uint64) func() notifiertest.APNsAnswer {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	return func() notifiertest.APNsAnswer {
		mu.Lock()
		defer mu.Unlock()
		switch n := random.IntN(1000); {
		case n < 20:
			return notifiertest.APNsAnswer{Status: http.StatusTooManyRequests, Reason: "TooManyRequests"}
		case n < 40:
			return notifiertest.APNsAnswer{Status: http.StatusInternalServerError, Reason: "InternalServerError"}
		case n < 45:
			return notifiertest.APNsAnswer{Status: http.StatusServiceUnavailable, Reason: "Shutdown"}
		case n < 55:
			return notifiertest.APNsAnswer{Fault: notifiertest.APNsRefuse}
		case n < 60:
			return notifiertest.APNsAnswer{Fault: notifiertest.APNsGoAway}
		case n < 65:
			return notifiertest.APNsAnswer{Fault: notifiertest.APNsGoodbye}
		case n < 70:
			return notifiertest.APNsAnswer{Fault: notifiertest.APNsReset}
		case n < 73:
			return notifiertest.APNsAnswer{Fault: notifiertest.APNsHangUp}
		default:
			return notifiertest.APNsAnswer{}
		}
	}
}

// Many pushes go over few connections that break in all ways: none is lost,
// and a device gets a second copy only where the answer to the first was lost.
func TestNoPushIsLost(t *testing.T) {
	t.Parallel()
	const count, workers, perConnection, maxAttempts = 1000, 256, 50, 100
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := apple(t, time.Now, perConnection)
	s.AnswerWith(badDay(seed))
	a := open(t, s, apns.Config{})
	to := device()
	uncertain := make([]int, count) // how often an answer was lost, by message
	var (
		next                         atomic.Int64
		slowed, retried, unreachable atomic.Int64
		all                          sync.WaitGroup
	)
	deliver := func(i int) error {
		n := order(to)
		n.ID = fmt.Sprintf("message-%d", i)
		n.IdempotencyKey = notifier.IdempotencyKey("", "alice", n.ID)
		for n.Attempt = 1; n.Attempt <= maxAttempts; n.Attempt++ {
			result := a.Notify(t.Context(), n)
			if err := result.Validate(); err != nil {
				return fmt.Errorf("%s: %w", n.ID, err)
			}
			switch {
			case result.Status == notifier.Delivered:
				return nil
			case result.Uncertain():
				uncertain[i]++
			case result.Reason == notifier.ReasonUnreachable:
				unreachable.Add(1)
			case result.Status == notifier.Retry:
				retried.Add(1)
			case result.Status == notifier.SlowDown:
				slowed.Add(1)
			default:
				return fmt.Errorf("%s: %s: %w", n.ID, result.Status, result.Err)
			}
		}
		return fmt.Errorf("%s: not delivered in %d attempts", n.ID, maxAttempts)
	}
	problems := make(chan error, workers)
	for range workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if err := deliver(i); err != nil {
					problems <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(problems)
	for err := range problems {
		require.NoError(t, err, "seed %d", seed)
	}

	copies := make(map[string]int, count)
	for _, push := range s.Pushes() {
		var payload struct {
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal(push.Payload, &payload))
		copies[payload.ID]++
	}
	doubles, lost := 0, 0
	for i, times := range uncertain {
		got := copies[fmt.Sprintf("message-%d", i)]
		require.GreaterOrEqual(t, got, 1, "seed %d: message %d was lost", seed, i)
		require.LessOrEqual(t, got, 1+times, "seed %d: message %d came twice, and %d answers were lost", seed, i, times)
		doubles, lost = doubles+got-1, lost+times
	}
	made, _ := s.Connections()
	t.Logf("%d pushes over %d connections: %d slowed down, %d retried, %d unreachable, %d answers lost, %d doubles, %d streams refused",
		len(s.Pushes()), made, slowed.Load(), retried.Load(), unreachable.Load(), lost, doubles, s.Excess())
	require.Positive(t, slowed.Load())
	require.Positive(t, retried.Load())
	require.Positive(t, lost)
}
