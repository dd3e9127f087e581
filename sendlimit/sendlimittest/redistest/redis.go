package redistest

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RequireEnv is the name of an environment variable. If it is set to 1, tests that need
// a redis-server fail if there is none. Otherwise they are skipped.
const RequireEnv = "SENDLIMIT_REQUIRE_REDIS"

// Embedded starts a miniredis in the test's process and a client of it. Both
// end with the test. Keys expire only by FastForward.
func Embedded(tb testing.TB) (*miniredis.Miniredis, *redis.Client) {
	tb.Helper()
	server := miniredis.RunT(tb)
	AnswerIdlePolls(server)
	// A long script takes its time on a busy machine.
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: pipeTo(server.Server()), ReadTimeout: time.Minute})
	client.AddHook(PassOverAbsent(server))
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("close the client of the embedded redis: %v", err)
		}
	})
	return server, client
}

// NeedServer skips the test if there is no redis-server in PATH; see
// RequireEnv and ProgramEnv.
func NeedServer(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath(program()); err == nil {
		return
	}
	absent := "no " + program() + " in PATH"
	if os.Getenv(RequireEnv) == "1" {
		tb.Fatal(absent + ", and " + RequireEnv + "=1 requires one")
	}
	tb.Skip(absent)
}

// Real starts a redis-server that ends with the test. Without a redis-server in PATH it
// acts like NeedServer. Args are arguments for redis-server; Start takes more options.
func Real(tb testing.TB, args ...string) *Server {
	tb.Helper()
	NeedServer(tb)
	server, err := Start(tb.Context(), Options{Args: args})
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, server)
	return server
}

// RealCluster starts a cluster of three masters, as Real starts a server.
func RealCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	NeedServer(tb)
	cluster, err := StartCluster(tb.Context(), args...)
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, cluster)
	return cluster
}

func closeAfter(tb testing.TB, server interface{ Close() error }) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := server.Close(); err != nil {
			tb.Error(err)
		}
	})
}
