package serve

import (
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMetricsOfTheStoreAreWellFormed(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	m.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command == "INFO" {
			peer.WriteBulk("used_memory:1000\r\nmaxmemory:0\r\n")
		}
		return command == "INFO"
	})
	collector, err := newStoreCollector(client, "")
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Zero(t, testutil.CollectAndCount(collector, "sendlimit_store_memory_max_bytes"), "no limit is not a limit of 0")
	require.Equal(t, 1, testutil.CollectAndCount(collector, "sendlimit_store_memory_used_bytes"))
	_, err = newStoreCollector(client, "A")
	require.Error(t, err)
}
