package sendlimittest

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// RequireRedisEnv names the environment variable that, set to 1, makes tests
// that need a redis-server fail where there is none, rather than skip.
const RequireRedisEnv = "SENDLIMIT_REQUIRE_REDIS"

// EmbeddedRedis starts a Redis within the test's own process, with a client;
// both end with the test. Its clock for expiry stands still but for
// FastForward.
func EmbeddedRedis(tb testing.TB) (*miniredis.Miniredis, *redis.Client) {
	tb.Helper()
	server := miniredis.RunT(tb)
	// A long script takes its time where the machine is busy.
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Minute})
	tb.Cleanup(func() {
		if err := client.Close(); err != nil {
			tb.Errorf("close the client of the embedded redis: %v", err)
		}
	})
	return server, client
}

// NeedRedis skips the test where there is no redis-server in PATH, or fails it
// if RequireRedisEnv says so.
func NeedRedis(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath(redisProgram); err == nil {
		return
	}
	const absent = "no " + redisProgram + " in PATH"
	if os.Getenv(RequireRedisEnv) == "1" {
		tb.Fatal(absent + ", and " + RequireRedisEnv + "=1 requires one")
	}
	tb.Skip(absent)
}

// RealRedis starts a redis-server that ends with the test; see NeedRedis for
// where there is none. Args are further arguments of redis-server; for other
// options see StartRedis.
func RealRedis(tb testing.TB, args ...string) *RedisServer {
	tb.Helper()
	NeedRedis(tb)
	server, err := StartRedis(tb.Context(), RedisOptions{Args: args})
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, server)
	return server
}

// RealCluster is RealRedis for a cluster of three masters.
func RealCluster(tb testing.TB, args ...string) *RedisCluster {
	tb.Helper()
	NeedRedis(tb)
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
