package store_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// These run against real servers, where there is a redis-server to start.

func inspect(t *testing.T, url string) (store.Report, error) {
	t.Helper()
	return store.Inspect(t.Context(), open(t, url))
}

func realRedis(t *testing.T, options redistest.Options) *redistest.Server {
	t.Helper()
	redistest.NeedServer(t)
	server, err := redistest.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

func TestRealRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	report, err := inspect(t, server.URL()+"/3")
	require.NoError(t, err)
	require.Empty(t, report.Warnings)
	require.Len(t, report.Nodes, 1)
	require.Equal(t, server.Addr, report.Nodes[0].Address)
	require.Equal(t, "noeviction", report.Nodes[0].Eviction)
	require.NotEmpty(t, report.Nodes[0].Version)
	require.NoError(t, report.RefuseEviction())
	size, err := server.Client().DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, size, "looking leaves nothing behind")
}

func TestRealRedisOnAUnixSocket(t *testing.T) {
	t.Parallel()
	server := realRedis(t, redistest.Options{UnixSocket: true})
	report, err := inspect(t, server.URL())
	require.NoError(t, err)
	require.Equal(t, server.Addr, report.Nodes[0].Address)
}

func TestRealRedisWithAPassword(t *testing.T) {
	t.Parallel()
	server := realRedis(t, redistest.Options{Password: "hunter2"})
	_, err := inspect(t, "redis://"+server.Addr)
	require.Equal(t, "Redis wants a password: put it in the URL, redis://:PASSWORD@HOST:PORT", unavailable(t, err))

	for _, wrong := range []string{":wrong@", "nobody:hunter2@"} {
		_, err = inspect(t, "redis://"+wrong+server.Addr)
		require.Equal(t, "Redis refuses the user or password: correct them in the URL, redis://USER:PASSWORD@HOST:PORT",
			unavailable(t, err))
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, right := range []string{":hunter2@", "default:hunter2@"} {
		_, err = inspect(t, "redis://"+right+server.Addr)
		require.NoError(t, err)
	}
	// A password for a server that wants none does no harm.
	unlocked := redistest.Real(t)
	_, err = inspect(t, "redis://:hunter2@"+unlocked.Addr)
	require.NoError(t, err)
}

func TestRealReplica(t *testing.T) {
	t.Parallel()
	master := redistest.Real(t)
	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	replica := redistest.Real(t, "--replicaof", host+" "+port)
	_, err = inspect(t, replica.URL())
	require.Equal(t, fmt.Sprintf("Redis at %s is a read-only replica: give the address of its master, %s", replica.Addr, master.Addr),
		unavailable(t, err))

	// Where INFO can't be seen, the attempt to write shows it.
	require.NoError(t, replica.Client().ACLSetUser(t.Context(), "app", "on", ">pw", "~*", "+@all", "-info").Err())
	_, err = inspect(t, "redis://app:pw@"+replica.Addr)
	require.Equal(t, "Redis is a read-only replica: give the address of its master", unavailable(t, err))
}

func TestRealRedisWithFewRights(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t, "--maxmemory-policy", "allkeys-lru")
	setUser := func(name string, rules ...string) string {
		require.NoError(t, server.Client().ACLSetUser(t.Context(), name, append([]string{"on", ">pw"}, rules...)...).Err())
		return "redis://" + name + ":pw@" + server.Addr
	}

	// What many hosted offers forbid: CONFIG is not needed.
	report, err := inspect(t, setUser("hosted", "~*", "+@all", "-config"))
	require.NoError(t, err)
	require.Empty(t, report.Warnings)
	require.Error(t, report.RefuseEviction())

	report, err = inspect(t, setUser("blind", "~*", "+@all", "-config", "-info"))
	require.NoError(t, err)
	require.Len(t, report.Warnings, 1)
	require.Contains(t, report.Warnings[0], "does not allow INFO")
	require.NoError(t, report.RefuseEviction(), "what can't be seen is warned of")

	_, err = inspect(t, setUser("fenced", "~sl:*", "+@all"))
	require.NoError(t, err, "rights on the program's own keys are enough")
}

func TestRealCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.RealCluster(t)
	report, err := inspect(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","))
	require.NoError(t, err)
	var addresses []string
	for _, node := range report.Nodes {
		addresses = append(addresses, node.Address)
	}
	require.ElementsMatch(t, cluster.Addrs(), addresses, "every master is looked at")

	_, err = inspect(t, "redis://"+cluster.Addrs()[0])
	require.Contains(t, unavailable(t, err), "is a node of a cluster: give a URL that begins with redis-cluster://")

	// One master that evicts is enough to lose messages.
	require.NoError(t, cluster.Nodes[1].Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-random").Err())
	report, err = inspect(t, "redis-cluster://"+cluster.Addrs()[2])
	require.NoError(t, err)
	require.Contains(t, unfit(t, report.RefuseEviction()), cluster.Addrs()[1])

	alone := redistest.Real(t)
	_, err = inspect(t, "redis-cluster://"+alone.Addr)
	require.Equal(t, "Redis is not a cluster: give a URL that begins with redis://", unavailable(t, err))
}

func TestRealSentinel(t *testing.T) {
	t.Parallel()
	master := realRedis(t, redistest.Options{Password: "hunter2"})
	sentinel := realRedis(t, redistest.Options{Sentinel: []string{
		"sentinel monitor mymaster " + strings.ReplaceAll(master.Addr, ":", " ") + " 1", "sentinel auth-pass mymaster hunter2",
	}}).Addr

	require.Eventually(t, func() bool {
		report, err := inspect(t, "redis-sentinel://:hunter2@"+sentinel+"/mymaster?db=2")
		return err == nil && len(report.Nodes) == 1 && report.Nodes[0].Eviction == "noeviction"
	}, time.Minute, 100*time.Millisecond)

	_, err := inspect(t, "redis-sentinel://"+sentinel+"/mymaster")
	require.Contains(t, unavailable(t, err), "Redis wants a password")

	_, err = inspect(t, "redis-sentinel://"+sentinel+"/other")
	require.Equal(t, "the Sentinels know no master of this name: correct the end of the URL, /MASTER-NAME", unavailable(t, err))

	_, err = inspect(t, "redis://"+sentinel)
	require.Equal(t, fmt.Sprintf("the server at %s is a Sentinel: give a URL such as redis-sentinel://%s/MASTER-NAME", sentinel, sentinel),
		unavailable(t, err))
}

func TestRealRedisThatLosesMessages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args        []string
		all, latest bool
	}{
		"nothing":             {[]string{"--appendonly", "no", "--save", ""}, true, false},
		"snapshots":           {[]string{"--appendonly", "no", "--save", "60 1"}, false, true},
		"append only":         {[]string{"--appendonly", "yes", "--save", ""}, false, false},
		"both":                {[]string{"--appendonly", "yes", "--save", "60 1"}, false, false},
		"not allowed to know": {[]string{"--appendonly", "no", "--save", "", "--rename-command", "CONFIG", ""}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Real(t, row.args...)
			report, err := inspect(t, server.URL())
			require.NoError(t, err)
			var all, latest []string
			if row.all {
				all = []string{"Redis at " + server.Addr + " keeps nothing: a restart loses every scheduled message," +
					" since appendonly is no and save is empty: set appendonly to yes"}
			}
			if row.latest {
				latest = []string{"Redis at " + server.Addr + " keeps only snapshots: a crash loses every message that was accepted" +
					" since the last one, since appendonly is no: set appendonly to yes"}
			}
			require.Equal(t, all, report.LosesAll())
			require.Equal(t, latest, report.LosesLatest())
		})
	}
}

// One master of a cluster is away: the others can be used, unless the cluster has to be
// whole.
func TestRealClusterWithoutAMaster(t *testing.T) {
	t.Parallel()
	for _, wholeOnly := range []string{"no", "yes"} {
		t.Run("full coverage "+wholeOnly, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.RealCluster(t, "--cluster-node-timeout", "500", "--cluster-require-full-coverage", wholeOnly)
			client := open(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","))
			_, err := store.Inspect(t.Context(), client)
			require.NoError(t, err)
			lost := cluster.Nodes[2]
			lost.Kill()
			if wholeOnly == "yes" {
				require.Eventually(t, func() bool {
					_, err = store.Inspect(t.Context(), client)
					return err != nil && strings.Contains(err.Error(), "the Redis Cluster is down or incomplete")
				}, time.Minute, 10*time.Millisecond)
				return
			}
			report, err := store.Inspect(t.Context(), client)
			require.NoError(t, err)
			require.Len(t, report.Nodes, 2)
			require.Contains(t, report.Warnings, "Redis at "+lost.Addr+", a node of the cluster, does not answer:"+
				" nothing is accepted or sent for its users")
			for _, node := range cluster.Nodes[:2] {
				node.Kill()
			}
			_, err = store.Inspect(t.Context(), client)
			require.Error(t, err)
		})
	}
}
