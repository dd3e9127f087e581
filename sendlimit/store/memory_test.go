package store_test

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// setInfo makes a server answer INFO with these lines, or with an error for a
// line that begins with a dash.
func setInfo(m *miniredis.Miniredis, lines ...string) {
	m.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		text := strings.Join(lines, "\r\n")
		switch {
		case command != "INFO":
			return false
		case strings.HasPrefix(text, "-"):
			peer.WriteError(text[1:])
		default:
			peer.WriteBulk(text)
		}
		return true
	})
}

func TestReadMemory(t *testing.T) {
	t.Parallel()
	m, client := redistest.Embedded(t)
	for _, row := range []struct {
		why   string
		lines []string
		want  []store.Memory
	}{
		{
			"as Redis writes it",
			[]string{"# Memory", "used_memory:1500", "used_memory_human:1.46K", "mem_not_counted_for_evict:500", "maxmemory:4000", "maxmemory_policy:noeviction", "evicted_keys:7"},
			[]store.Memory{{Address: m.Addr(), Used: 1000, Max: 4000, Policy: "noeviction", Evicted: 7}},
		},
		{"no limit", []string{"used_memory:1500", "maxmemory:0"}, []store.Memory{{Address: m.Addr(), Used: 1500}}},
		{"it does not say", []string{"# Memory"}, nil},
		{"INFO is forbidden", []string{"-NOPERM this user has no permissions to run the 'info' command"}, nil},
		{"no such section", []string{"-ERR section (memory) is not supported"}, nil},
	} {
		setInfo(m, row.lines...)
		got, err := store.ReadMemory(t.Context(), client)
		require.NoError(t, err, row.why)
		require.Equal(t, row.want, got, row.why)
	}

	m.Server().SetPreHook(nil)
	got, err := store.ReadMemory(t.Context(), client)
	require.NoError(t, err, "the embedded store")
	require.Empty(t, got)

	client.Options().MaxRetries = 0
	setInfo(m, "-LOADING Redis is loading the dataset in memory")
	_, err = store.ReadMemory(t.Context(), client)
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Equal(t, "Redis is still loading its data: try again in a moment", away.Detail)
}

func TestReadMemoryOfRealServers(t *testing.T) {
	t.Parallel()
	alone := redistest.Real(t, "--maxmemory", "100mb")
	got, err := store.ReadMemory(t.Context(), alone.Client())
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, alone.Addr, got[0].Address)
	require.EqualValues(t, 100<<20, got[0].Max)
	require.Positive(t, got[0].Used)
	require.Less(t, got[0].Used, got[0].Max)
	require.Equal(t, "noeviction", got[0].Policy)

	cluster := redistest.RealCluster(t)
	got, err = store.ReadMemory(t.Context(), cluster.Client())
	require.NoError(t, err)
	var addresses []string
	for _, m := range got {
		addresses = append(addresses, m.Address)
		require.Zero(t, m.Max)
	}
	require.ElementsMatch(t, cluster.Addrs(), addresses, "every master is asked")
}

func TestFullAt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		used, most int64
		percent    int
		full       bool
	}{
		{849, 1000, 85, false},
		{850, 1000, 85, true},
		{851, 1000, 85, true},
		{999, 1000, 100, false},
		{1001, 1000, 100, true},
		{850 << 40, 1000 << 40, 85, true},
		{1 << 40, 0, 85, false}, // no limit
	} {
		require.Equal(t, row.full, store.Memory{Used: row.used, Max: row.most}.FullAt(row.percent), "%+v", row)
	}
}
