package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The worker starts on a store that takes no more messages, since it makes room
// there, and says what those who submit will run into.
func TestItWarnsOfWhatKeepsOthersFromSubmitting(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	informs(m, "redis_version:7.2.4\r\nrole:master\r\nconnected_slaves:1\r\nmaxmemory_policy:noeviction\r\nused_memory:900\r\nmaxmemory:1000\r\n")
	worker := start(t, environ, "--wait-replicas", "2").started(t)
	full := worker.logged(t, "the store is nearly full")
	require.Equal(t, m.Addr(), full["server"])
	require.EqualValues(t, 900, full["used_bytes"])
	require.EqualValues(t, 1000, full["max_bytes"])
	require.EqualValues(t, 85, full["store_full_at_percent"])
	lacking := worker.logged(t, "a server of the store has fewer replicas than wait_replicas")
	require.EqualValues(t, 1, lacking["replicas"])

	worker = start(t, environ, "--store-full-at", "91%", "--wait-replicas", "1").started(t)
	worker.notLogged(t, "nearly full")
	worker.notLogged(t, "wait_replicas")
}

func TestItWarnsOfAStoreThatKeepsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, "--appendonly", "no", "--save", "")
	environ := []string{"REDIS_URL=" + server.URL(), "SENDLIMIT_PUSH_URL=log:"}
	want := "Redis at " + server.Addr + " keeps nothing: a restart loses every scheduled message," +
		" since appendonly is no and save is empty: set appendonly to yes"
	worker := start(t, environ).started(t)
	require.Equal(t, want, worker.attribute(t, "the store keeps nothing", "detail"))
	ready := get(t, worker.page(t, "readyz"))
	require.Contains(t, ready.body, `"status":"ready"`)
	require.Contains(t, ready.body, `{"check":"durability","status":"warning","detail":"`+want+`"}`)
	require.Contains(t, looked(t, environ, cli.StatusDone)["store"].Detail, "; warning: "+want)

	require.NoError(t, server.Client().ConfigSet(t.Context(), "appendonly", "yes").Err())
	require.NotContains(t, looked(t, environ, cli.StatusDone)["store"].Detail, "warning")
	worker = start(t, environ).started(t)
	worker.notLogged(t, "keeps nothing")
	require.NotContains(t, get(t, worker.page(t, "readyz")).body, "durability")
}

func TestItSaysWhatIsLostWithTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	for _, user := range []string{"alice", "bob"} {
		worker.submits(t, user, time.Hour)
	}
	require.NoError(t, worker.end(t))
	require.EqualValues(t, 2, worker.logged(t, "pending messages are lost with the embedded store")["lost"])

	empty := start(t, nil).started(t)
	require.NoError(t, empty.end(t))
	empty.notLogged(t, "pending messages are lost with the embedded store")
}
