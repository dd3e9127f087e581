package redistest_test

import (
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestEmbeddedRedis(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	require.NoError(t, client.Set(t.Context(), "k", "v", time.Minute).Err())
	server.FastForward(time.Minute)
	require.False(t, server.Exists("k"))
}

func TestRealRedisKeepsItsDataOverACrash(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, redistest.Durable()...)
	require.NoError(t, server.Client().Set(t.Context(), "k", "v", 0).Err())
	addr, pid := server.Addr, server.PID()

	server.Kill()
	server.Kill() // twice is harmless
	require.Error(t, server.Client().Ping(t.Context()).Err())

	require.NoError(t, server.Restart(t.Context()))
	require.Equal(t, addr, server.Addr)
	require.NotEqual(t, pid, server.PID())
	require.Equal(t, "v", server.Client().Get(t.Context(), "k").Val())
}

func TestRealRedisForgetsWithoutAppendOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	require.NoError(t, server.Client().Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, server.Restart(t.Context()), "kills it first")
	require.Zero(t, server.Client().Exists(t.Context(), "k").Val())
}

func TestStartRedisWithAPassword(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]redistest.Options{
		"tcp":  {Password: "s€cret:/@"},
		"unix": {Password: "s€cret:/@", UnixSocket: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			require.NoError(t, server.Client().Ping(t.Context()).Err())

			parsed, err := redis.ParseURL(server.URL())
			require.NoError(t, err)
			require.NoError(t, ping(t, parsed))
			parsed.Password = ""
			require.ErrorContains(t, ping(t, parsed), "NOAUTH")
		})
	}
}

func TestStartRedisAsAReplica(t *testing.T) {
	t.Parallel()
	primary := redistest.Real(t, "--repl-diskless-sync-delay", "0")
	_, port, err := net.SplitHostPort(primary.Addr)
	require.NoError(t, err)
	replica := redistest.Real(t, "--replicaof", "127.0.0.1", port)
	require.NoError(t, primary.Client().Set(t.Context(), "k", "v", 0).Err())
	require.Eventually(t, func() bool {
		return replica.Client().Get(t.Context(), "k").Val() == "v"
	}, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, replica.Client().Set(t.Context(), "k", "w", 0).Err(), "READONLY")
}

func TestStartRedisSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	_, err := redistest.Start(t.Context(), redistest.Options{
		Args: []string{"--no-such-setting", "1"},
	})
	require.ErrorContains(t, err, "no-such-setting")
}

func TestStartRedisWithoutAServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := redistest.Start(t.Context(), redistest.Options{})
	require.ErrorContains(t, err, "redis-server")
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	redistest.NeedServer(t)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	server, err := redistest.Start(t.Context(), redistest.Options{})
	require.NoError(t, err)
	pid := server.PID()
	require.NoError(t, server.Close())
	require.NoError(t, server.Close(), "twice is harmless")

	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = os.Stat("/proc/" + strconv.Itoa(pid))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRealCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.RealCluster(t, "--maxmemory-policy", "noeviction")
	require.Len(t, cluster.Addrs(), 3)
	client := cluster.Client()
	for i := range 50 { // on all three nodes
		require.NoError(t, client.Set(t.Context(), strconv.Itoa(i), "v", 0).Err())
	}
	for _, node := range cluster.Nodes {
		require.NotZero(t, node.Client().DBSize(t.Context()).Val())
	}
	err := client.MSet(t.Context(), "{a}k", "v", "{b}k", "v").Err()
	require.ErrorContains(t, err, "CROSSSLOT")
}

func start(t *testing.T, options redistest.Options) *redistest.Server {
	t.Helper()
	redistest.NeedServer(t)
	server, err := redistest.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func ping(t *testing.T, options *redis.Options) error {
	t.Helper()
	client := redis.NewClient(options)
	defer client.Close()
	return client.Ping(t.Context()).Err()
}
