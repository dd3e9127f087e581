package fcm_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// A server refuses some of many pushes over few connections, fails at others, says GOAWAY and
// resets streams: none is lost, and only those arrive twice whose answer was lost.
func TestAnUnreliableServer(t *testing.T) {
	t.Parallel()
	const pushes, senders = 1000, 64
	s := server(t, time.Now)
	var (
		mu       sync.Mutex
		arrived  = map[string]int{} // by token
		lost     = map[string]int{} // answers, by token
		goAways  int
		sequence = rand.New(rand.NewPCG(17, 4096))
	)
	s.AnswerWith(func(m notifiertest.FCMMessage) notifiertest.Answer {
		mu.Lock()
		chance := sequence.IntN(100)
		if chance < 6 {
			mu.Unlock()
			if chance < 3 {
				return notifiertest.Answer{Status: http.StatusTooManyRequests, Body: said("RESOURCE_EXHAUSTED", "")}
			}
			return notifiertest.Answer{Status: http.StatusInternalServerError, Body: said("INTERNAL", "")}
		}
		defer mu.Unlock()
		arrived[m.Target]++
		switch {
		case chance < 8:
			lost[m.Target]++
			panic(http.ErrAbortHandler)
		case chance < 9:
			goAways++
			return notifiertest.Answer{Status: http.StatusOK, Header: http.Header{"Connection": {"close"}}, Body: `{"name": "projects/p/messages/1"}`}
		}
		return notifiertest.Answer{}
	})
	f := open(t, s, fcm.Config{})
	var (
		all     sync.WaitGroup
		results = make([]notifier.Result, pushes)
	)
	started := time.Now()
	for sender := range senders {
		all.Go(func() {
			for i := sender; i < pushes; i += senders {
				for range 50 {
					results[i] = f.Notify(t.Context(), order("token-"+strconv.Itoa(i)))
					if results[i].Status != notifier.Retry && results[i].Status != notifier.SlowDown {
						break
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d pushes in %s over at most %d connections, %d GOAWAY, %d answers lost", pushes, time.Since(started).Round(time.Millisecond),
		s.MaxConnections(), goAways, len(lost))
	for i, r := range results {
		require.NoError(t, r.Validate())
		require.Equal(t, notifier.Delivered, r.Status, "%v", r.Err)
		token := "token-" + strconv.Itoa(i)
		require.Equal(t, 1+lost[token], arrived[token], "it arrives again only if its answer was lost")
	}
	require.NotZero(t, goAways)
	require.NotEmpty(t, lost)
	require.LessOrEqual(t, s.MaxConnections(), 16, "those that end after a GOAWAY included")
	require.Equal(t, 1, s.Exchanges())
}
