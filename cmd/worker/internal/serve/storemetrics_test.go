package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMetricsOfTheStoreAreWellFormed(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	informs := func(answer string) {
		m.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
			if command == "INFO" {
				peer.WriteBulk(answer)
			}
			return command == "INFO"
		})
	}
	informs("used_memory:1000\r\nmaxmemory:0\r\n")
	collector, err := newStoreCollector(client, "")
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Zero(t, testutil.CollectAndCount(collector, "sendlimit_store_memory_max_bytes"), "no limit is not a limit of 0")
	require.Equal(t, 1, testutil.CollectAndCount(collector, "sendlimit_store_memory_used_bytes"))
	require.Zero(t, testutil.CollectAndCount(collector, "sendlimit_store_evicts"), "the server does not tell")

	informs("used_memory:1000\r\nmaxmemory_policy:allkeys-lru\r\nevicted_keys:9\r\n")
	evicting, err := newStoreCollector(client, "")
	require.NoError(t, err)
	of := `{server="` + m.Addr() + `"}`
	require.NoError(t, testutil.CollectAndCompare(evicting, strings.NewReader(`
# HELP sendlimit_store_evicted_keys_total Keys that a server of the store has evicted since its start.
# TYPE sendlimit_store_evicted_keys_total counter
sendlimit_store_evicted_keys_total`+of+` 9
# HELP sendlimit_store_evicts 1 if a server of the store has a maxmemory-policy that deletes messages, so that submits are refused, 0 if not; absent if it does not tell.
# TYPE sendlimit_store_evicts gauge
sendlimit_store_evicts`+of+` 1
`), "sendlimit_store_evicts", "sendlimit_store_evicted_keys_total"))

	// No relay runs here, and whatever is overdue counts nevertheless.
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	member := keyspace.NewToken() + keyspace.WatchSuffix("alice", "a")
	due := float64(time.Now().Add(-90 * time.Second).UnixMilli())
	require.NoError(t, client.ZAdd(t.Context(), keys.Near("alice"), redis.Z{Member: member, Score: due}).Err())
	late, err := newStoreCollector(client, "")
	require.NoError(t, err)
	registry = prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(late))
	families, err := registry.Gather()
	require.NoError(t, err)
	behind := 0.0
	for _, family := range families {
		if family.GetName() == "sendlimit_watch_oldest_overdue_seconds" {
			behind = family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.InDelta(t, 95, behind, 5)

	_, err = newStoreCollector(client, "A")
	require.Error(t, err)
}
