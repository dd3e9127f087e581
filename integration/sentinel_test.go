package integration_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Programs follow Sentinels: the master is killed between submits, and a replica takes its place.
// What was accepted before, and so was on the replica, is delivered, and so is what is accepted
// then. Worlds under Sentinel try what may happen beside it.
func TestProgramsFollowSentinels(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	servers := redistest.RealSentinels(t, 2, "--appendonly", "yes") // one is left to wait for
	receiver := notifiertest.NewReceiver(time.Now)
	t.Cleanup(receiver.Close)
	worker := buildPrograms(t).worker(t, []string{
		"REDIS_URL=redis-sentinel://" + strings.Join(servers.Addrs(), ",") + "/" + redistest.MasterName,
		"SENDLIMIT_PUSH_URL=" + receiver.URL(), "SENDLIMIT_WAIT_REPLICAS=1",
	})
	worker.delivers(t)
	url := worker.logged(t, "API endpoint", "url") + "messages"
	due := make(map[string]time.Time)
	refused := 0
	submit := func(user string) (status int) {
		at := time.Now().Add(3 * time.Second).UTC().Truncate(time.Millisecond)
		line := fmt.Sprintf(`{"id":"m","user":%q,"send_at":%q,"title":"t"}`, user, at.Format(time.RFC3339Nano))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(line))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		switch response.StatusCode {
		case http.StatusCreated:
			due[user] = at
		case http.StatusServiceUnavailable:
			refused++
		default:
			t.Fatalf("%s: %s %s", user, response.Status, body)
		}
		return response.StatusCode
	}
	for i := 0; len(due) < 100; i++ {
		submit(fmt.Sprint("before-", i))
	}
	servers.Master.Kill()
	refused = 0
	for i, end := 0, time.Now().Add(2*time.Minute); len(due) < 110; i++ {
		require.True(t, time.Now().Before(end), "the replica takes no submits")
		if submit(fmt.Sprint("after-", i)) != http.StatusCreated {
			time.Sleep(100 * time.Millisecond)
		}
	}
	require.Positive(t, refused, "nobody noticed")
	require.Eventually(t, func() bool {
		arrived := make(map[string]bool)
		for _, r := range receiver.Requests() {
			payload, err := r.Payload()
			require.NoError(t, err)
			at, accepted := due[payload.User]
			require.False(t, accepted && r.Arrived.Before(at), "%s came early", payload.User)
			arrived[payload.User] = arrived[payload.User] || accepted
		}
		for user := range due {
			if !arrived[user] {
				return false
			}
		}
		return true
	}, 2*time.Minute, 50*time.Millisecond, "accepted messages are lost")
}
