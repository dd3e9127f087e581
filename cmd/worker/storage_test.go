package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
