package command

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// A worker on a copy of a store serves the API, delivers nothing, and says why. It delivers if it
// is told that the store has moved, or what was sent already.
func TestAStoreUnderAnotherAddressIsNotDelivered(t *testing.T) {
	t.Parallel()
	const took = "took over a store that was last delivered under another address"
	m, client, environ := elsewhere(t)
	address := "localhost:" + m.Port() + "/0"
	copied := func() { m.HSet("sl:meta", "address", "redis.example.com:6379/0") } // as that of the original has it

	first := start(t, environ).started(t)
	require.Equal(t, address, m.HGet("sl:meta", "address"))
	require.Contains(t, get(t, first.page(t, "metrics")).body, "\nsendlimit_held_back 0\n")
	require.NoError(t, first.end(t))
	require.NotContains(t, prints(t, environ, "", "check"), "last delivered")

	copied()
	held := start(t, environ)
	line := held.logged(t, "nothing is delivered: the store was last delivered under another address")
	require.Equal(t, "ERROR", line["level"])
	require.Equal(t, "redis.example.com:6379/0", line["last_address"])
	require.Equal(t, address, line["address"])
	require.Contains(t, line["next"], "--store-moved")
	require.Contains(t, line["next"], "--drop-due-before")
	r := looksReady(t, held.page(t, "readyz"), http.StatusServiceUnavailable)
	require.Equal(t, condition{
		Check: "address", Status: "failed", Detail: "nothing is delivered: the store was last delivered as redis.example.com:6379/0," +
			" and redis_url says " + address + ": " + line["next"].(string), //nolint:forcetypeassert // it fails then
	}, r.Checks[len(r.Checks)-1])
	require.Contains(t, get(t, held.page(t, "metrics")).body, "\nsendlimit_held_back 1\n")
	require.Equal(t, http.StatusOK, get(t, held.page(t, "v1/users/alice/messages")).status, "the API serves")
	require.Contains(t, prints(t, environ, "", "check"), "; warning: the store was last delivered as redis.example.com:6379/0, so a worker does not"+
		" deliver it as "+address+" without --store-moved or --drop-due-before: see sendlimit-worker run --help")
	submitMessage(t, "redis://"+m.Addr(), "alice", 0)
	require.Never(t, func() bool { return held.stdout.String() != "" }, time.Second, 50*time.Millisecond)
	serving, err := queue.Workers(client, "")
	require.NoError(t, err)
	require.Empty(t, serving)
	require.NoError(t, held.end(t))

	moved := start(t, environ, "run", "--store-moved").started(t)
	require.Equal(t, address, moved.logged(t, took)["address"])
	require.Eventually(t, func() bool { return strings.Contains(moved.stdout.String(), "alice") }, time.Minute, 10*time.Millisecond)
	require.NoError(t, moved.end(t))
	start(t, environ).started(t).notLogged(t, took)

	copied()
	person := start(t, environ, "--log-format", "text")
	require.Eventually(t, func() bool {
		return strings.Contains(person.stderr.String(), "  The store has moved, or has another name:  sendlimit-worker run --store-moved\n")
	}, time.Minute, 5*time.Millisecond)
	require.Contains(t, person.stderr.String(), "\nas redis.example.com:6379/0, and redis_url is "+address+" now.\n")
	dropped := start(t, environ, "--drop-due-before", "now").started(t)
	require.Equal(t, "redis.example.com:6379/0", dropped.logged(t, took)["last_address"])

	copied()
	apart := start(t, environ, "--deliver=false")
	apart.logged(t, "serving only the API")
	require.Equal(t, http.StatusOK, get(t, apart.page(t, "readyz")).status)
	apart.notLogged(t, "last delivered")
}
