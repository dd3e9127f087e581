package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// sentinelStory is callers of a worker's API, on a master that Sentinels replace.
type sentinelStory struct {
	*testing.T

	url    string // of the API's messages
	client *http.Client

	mu     sync.Mutex
	due    map[string]time.Time // of each accepted message, by its user
	failed int                  // calls without an answer that counts
}

// submit submits a message until there is an answer, as callers do: each call has the same
// id.
func (s *sentinelStory) submit(user string, in time.Duration, until time.Time) {
	began := time.Now()
	at := began.Add(in).UTC().Truncate(time.Millisecond)
	line := fmt.Sprintf(`{"id":"m","user":%q,"send_at":%q,"title":"t","on_conflict":"shift"}`, user, at.Format(time.RFC3339Nano))
	for time.Now().Before(until) {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, strings.NewReader(line))
		if err != nil {
			s.Errorf("%s: %v", user, err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := s.client.Do(request)
		if err != nil {
			s.Errorf("%s: %v", user, err)
			return
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		var outcome struct {
			SendAt time.Time `json:"send_at"`
		}
		switch response.StatusCode {
		case http.StatusCreated, http.StatusOK: // OK if a call without an answer was done
			if err != nil || json.Unmarshal(body, &outcome) != nil || outcome.SendAt.IsZero() {
				s.Errorf("%s: %v %s", user, err, body)
			}
			s.mu.Lock()
			s.due[user] = outcome.SendAt
			s.mu.Unlock()
			return
		case http.StatusServiceUnavailable:
			s.mu.Lock()
			s.failed++
			s.mu.Unlock()
			time.Sleep(100 * time.Millisecond)
		default:
			s.Errorf("%s: %s %s", user, response.Status, bytes.TrimSpace(body))
			return
		}
	}
	s.Errorf("%s had no answer", user)
}

// The master is killed in the middle of traffic, and Sentinels make a replica the master.
// What was accepted, and so was on a replica, is delivered: at its time, or within five
// seconds after the new master is there. Nothing is sent twice but what was being sent when
// the master died, since its outcome may not have reached the replica.
func TestSentinelFailoverInTheMiddleOfTraffic(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	p := buildPrograms(t)
	servers := redistest.RealSentinels(t, 2, "--appendonly", "yes")
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	environ := []string{
		"REDIS_URL=redis-sentinel://" + strings.Join(servers.Addrs(), ",") + "/" + redistest.MasterName,
		"SENDLIMIT_PUSH_URL=" + receiver.URL(), "SENDLIMIT_WAIT_REPLICAS=1",
	}
	worker, second := p.worker(t, environ), p.worker(t, environ)
	worker.delivers(t)
	second.delivers(t)
	s := &sentinelStory{
		T: t, url: worker.logged(t, "API endpoint", "url") + "messages", due: make(map[string]time.Time),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 20 * time.Second},
	}
	t.Cleanup(s.client.CloseIdleConnections)

	const callers, margin = 8, 5 * time.Second
	var traffic sync.WaitGroup
	stop := make(chan struct{})
	giveUp := time.Now().Add(time.Minute)
	for caller := range callers {
		traffic.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					s.submit(fmt.Sprintf("user-%d-%d", caller, i), time.Duration(i%40)*100*time.Millisecond, giveUp)
				}
			}
		})
	}
	await := func(n int) {
		require.Eventually(t, func() bool { return len(receiver.Requests()) >= n }, time.Minute, 5*time.Millisecond)
	}
	await(200)
	old := servers.Master.Addr
	killed := time.Now()
	servers.Master.Kill()
	var replaced time.Time
	require.Eventually(t, func() bool {
		current, err := servers.Current(t.Context())
		require.NoError(t, err)
		for _, replica := range servers.Replicas {
			role, err := replica.Client().Do(t.Context(), "role").Slice()
			if err == nil && replica.Addr == current && current != old && role[0] == "master" {
				replaced = time.Now()
			}
		}
		return !replaced.IsZero()
	}, time.Minute, 5*time.Millisecond)
	at := len(receiver.Requests())
	await(at + 1)
	first := receiver.Requests()[at].Arrived.Sub(replaced)
	await(at + 200)
	close(stop)
	traffic.Wait()

	arrived := make(map[string]time.Time)
	twice := 0
	look := func() int {
		clear(arrived)
		twice = 0
		for _, r := range receiver.Requests() {
			payload, err := r.Payload()
			require.NoError(t, err)
			before, again := arrived[payload.User]
			if !again {
				arrived[payload.User] = r.Arrived
				continue
			}
			twice++
			require.WithinRange(t, before, killed.Add(-time.Second), replaced, "%s twice", payload.User)
		}
		return len(arrived)
	}
	require.Eventually(t, func() bool { return look() >= len(s.due) }, 30*time.Second, 50*time.Millisecond, "accepted messages are lost")
	var latest time.Duration
	for user, due := range s.due {
		require.Contains(t, arrived, user, "accepted and lost")
		require.False(t, arrived[user].Before(due), "%s came early", user)
		from := due
		if due.Before(replaced) && due.After(killed.Add(-time.Second)) {
			from = replaced
		}
		latest = max(latest, arrived[user].Sub(from))
	}
	t.Logf("%d accepted, %d calls without an answer, %d sent twice; new master after %s, first delivery %s later, the latest message %s late",
		len(s.due), s.failed, twice, replaced.Sub(killed), first, latest)
	require.Less(t, first, margin)
	require.Less(t, latest, margin)
	require.Positive(t, s.failed, "nobody noticed")
}
