package command

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// elsewhere is a Redis beside the worker, with the settings that lead there.
func elsewhere(t *testing.T) (*miniredis.Miniredis, *redis.Client, []string) {
	t.Helper()
	m, client := redistest.Embedded(t)
	return m, client, []string{"REDIS_URL=redis://" + m.Addr(), "SENDLIMIT_PUSH_URL=log:"}
}

// submitMessage sends a message to the store, due after the given time, and returns
// when it is to go out.
func submitMessage(t *testing.T, url, user string, after time.Duration) time.Time {
	t.Helper()
	client, err := store.Open(url, store.Options{})
	require.NoError(t, err)
	defer client.Close()
	submitter, err := submit.New(taskstest.Open(t, client, backend.Options{}), submit.Options{})
	require.NoError(t, err)
	defer submitter.Close()
	o, err := submitter.Submit(t.Context(), message.Message{
		ID: "id-" + user, User: user, SendAt: time.Now().Add(after), Title: "Hello",
	})
	require.NoError(t, err)
	require.Equal(t, message.Accepted, o.Outcome, o.Detail)
	return o.SendAt.Time
}

func TestWithNothingInstalledItDeliversOnTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	due := worker.submits(t, "alice", 1200*time.Millisecond)
	require.Eventually(t, func() bool { return len(worker.stdout.lines(t)) == 1 }, time.Minute, 10*time.Millisecond)
	line := worker.stdout.lines(t)[0]
	require.Equal(t, "alice", line["user"])
	require.Equal(t, "id-alice", line["id"])
	text, ok := line["delivered_at"].(string)
	require.True(t, ok)
	delivered, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	require.False(t, delivered.Before(due), "never early")

	require.NoError(t, worker.end(t), "being told to stop is no failure")
	for _, private := range []string{"alice", "Hello"} {
		for _, logged := range worker.stderr.lines(t) {
			delete(logged, "try") // where an alice is made up
			text, err := json.Marshal(logged)
			require.NoError(t, err)
			require.NotContains(t, string(text), private)
		}
	}
}

// What a worker signs and prints has the store's time, since its own clock may be wrong.
func TestChannelsGoByTheStoresClock(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	m.SetTime(time.Now().Add(time.Hour))
	worker := start(t, environ).started(t)
	submitMessage(t, environ[0][len("REDIS_URL="):], "alice", time.Hour+time.Second)
	m.SetTime(time.Now().Add(time.Hour + 2*time.Second))
	require.Eventually(t, func() bool { return len(worker.stdout.lines(t)) == 1 }, time.Minute, 10*time.Millisecond)
	text, _ := worker.stdout.lines(t)[0]["delivered_at"].(string)
	delivered, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	require.Greater(t, time.Until(delivered), 50*time.Minute)
}

func TestItSaysWhatTheEmbeddedStoreIsAndWhatToTryNext(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	line := worker.logged(t, "started the embedded store, whose data is lost when this worker ends")
	require.EqualValues(t, 10_000, line["meant_for_pending"])
	prefix := "SENDLIMIT_API=" + strings.TrimSuffix(worker.attribute(t, "API endpoint", "url"), "/v1/") + " sendlimit push --user alice"
	require.Equal(t, []any{prefix + ` --at +10s --title "Hello"`, prefix + ` --at +30s --title "Too soon"`}, line["try"])

	person := start(t, nil, "--log-format", "text")
	require.Eventually(t, func() bool {
		return strings.Contains(person.stderr.String(), "msg=delivering")
	}, time.Minute, 5*time.Millisecond)
	said := person.stderr.String()
	require.Contains(t, said, "Started the embedded store. Its data is lost when this worker ends,\nand it is meant for up to 10,000 pending messages.\n")
	require.Contains(t, said, ` --at +10s --title "Hello"`+"\n")
	require.Empty(t, person.stdout.String(), "deliveries only")
}

func TestAStoreOfOnesOwnNeedsAPushTarget(t *testing.T) {
	t.Parallel()
	m, _, _ := elsewhere(t)
	status, said := refuses(t, []string{"REDIS_URL=redis://" + m.Addr()})
	require.Equal(t, cli.StatusInvalid, status)
	require.Equal(t, "error: --push-url is required with --redis-url: an http or https URL, or log: to only log messages;"+
		" or a channel to devices: see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file\n", said)
	require.Empty(t, m.Keys(), "nothing was touched")
}

func TestAnAddressTaken(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	m, _, environ := elsewhere(t)
	for flag, orOff := range map[string]string{"--listen": ", or off", "--admin-listen": ""} {
		status, said := refuses(t, environ, flag, listener.Addr().String())
		require.Equal(t, cli.StatusInvalid, status)
		require.Contains(t, said, "error: "+listener.Addr().String()+" is in use: another program listens there; choose another address with "+flag+orOff)
	}
	require.Empty(t, m.Keys(), "nothing was touched")
}

func TestStoresItWillNotWorkOn(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	informs(m, "redis_version:7.2.4\r\nrole:master\r\nmaxmemory_policy:allkeys-lru")
	status, said := refuses(t, environ)
	require.Equal(t, cli.StatusUnavailable, status)
	require.Contains(t, said, "has the maxmemory-policy allkeys-lru, which deletes scheduled messages when memory is full: set it to noeviction")
	require.Empty(t, m.Keys(), "nothing was touched")

	m, client, environ := elsewhere(t)
	require.NoError(t, client.HSet(t.Context(), "sl:meta", "layout", int(redisstore.PresentLayout)+1).Err())
	status, said = refuses(t, environ)
	require.Equal(t, cli.StatusUnavailable, status)
	require.Contains(t, said, "use the newer program, or another prefix")
	require.Equal(t, []string{"sl:meta"}, m.Keys(), "no rules were written")
}

func TestWhatItMayNotSeeIsAWarning(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	informs(m, "-NOPERM this user has no permissions to run the 'info' command")
	worker := start(t, environ).started(t)
	require.Contains(t, worker.attribute(t, "some checks of the store were not possible", "detail"), "does not allow this user INFO")
}

// The worker's clock and the store's half a minute apart.
func TestClocksApartAreSaid(t *testing.T) {
	t.Parallel()
	const apart = "the clocks of the store and of this machine differ"
	m, _, environ := elsewhere(t)
	start(t, environ).started(t).notLogged(t, apart)

	// The store's clock stands still while a worker starts.
	began := time.Now()
	m.SetTime(began.Add(30 * time.Second))
	ahead, err := time.ParseDuration(start(t, environ).attribute(t, apart, "store_ahead"))
	require.NoError(t, err)
	require.InDelta(t, 30, ahead.Seconds(), time.Since(began).Seconds())

	began = time.Now()
	m.SetTime(began.Add(-3 * time.Second))
	behind, err := time.ParseDuration(start(t, environ).attribute(t, apart, "store_ahead"))
	require.NoError(t, err)
	require.InDelta(t, -3, behind.Seconds(), time.Since(began).Seconds())

	m.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command == "TIME" {
			peer.WriteError("NOPERM this user has no permissions to run the 'time' command")
		}
		return command == "TIME"
	})
	start(t, environ).logged(t, "the store does not allow this user to read its clock")
}
