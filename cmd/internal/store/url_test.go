package store_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func open(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	client, err := store.Open(url, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestOpenOneServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		url, network, address, user, password string
		db                                    int
		tls                                   bool
	}{
		{url: "redis://h", network: "tcp", address: "h:6379"},
		{url: "redis://h:1/3", network: "tcp", address: "h:1", db: 3},
		{url: "redis://:p%40w%2F@[::1]:1", network: "tcp", address: "[::1]:1", password: "p@w/"},
		{url: "rediss://u:pw@h:1/2", network: "tcp", address: "h:1", user: "u", password: "pw", db: 2, tls: true},
		{url: "unix:///run/redis.sock?db=4", network: "unix", address: "/run/redis.sock", db: 4},
		{url: "unix://u:pw@/run/redis.sock", network: "unix", address: "/run/redis.sock", user: "u", password: "pw"},
	} {
		client, ok := open(t, row.url).(*redis.Client)
		require.True(t, ok, row.url)
		o := client.Options()
		require.Equal(t, row.network, o.Network, row.url)
		require.Equal(t, row.address, o.Addr, row.url)
		require.Equal(t, row.user, o.Username, row.url)
		require.Equal(t, row.password, o.Password, row.url)
		require.Equal(t, row.db, o.DB, row.url)
		require.Equal(t, row.tls, o.TLSConfig != nil, row.url)
		require.GreaterOrEqual(t, o.PoolSize, 64, "64 callers at the same time")
		require.True(t, o.ContextTimeoutEnabled)
	}
}

func TestOpenKeepsTheOptionsOfTheURL(t *testing.T) {
	t.Parallel()
	client, ok := open(t, "redis://h?pool_size=3&read_timeout=7s").(*redis.Client)
	require.True(t, ok)
	require.Equal(t, 3, client.Options().PoolSize)
	require.Equal(t, "7s", client.Options().ReadTimeout.String())
}

func TestOpenCluster(t *testing.T) {
	t.Parallel()
	client, ok := open(t, "redis-cluster://u:p%2Cw@a:1,b,[::1]:3").(*redis.ClusterClient)
	require.True(t, ok)
	o := client.Options()
	require.Equal(t, []string{"a:1", "b:6379", "[::1]:3"}, o.Addrs)
	require.Equal(t, "u", o.Username)
	require.Equal(t, "p,w", o.Password)
	require.GreaterOrEqual(t, o.PoolSize, 64)
}

func TestOpenSentinel(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"redis-sentinel://a:1,b/mymaster",
		"redis-sentinel://u:pw@a:1,b:2/my-master?db=3&sentinel_username=su&sentinel_password=sp",
	} {
		_, ok := open(t, url).(*redis.Client)
		require.True(t, ok, url)
	}
}

func TestURLsThatLeadNowhere(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	for url, shown := range map[string]string{
		"":                                        "",
		"localhost:6379":                          "localhost:6379",
		"http://h":                                "http://h",
		"redis:h":                                 "redis:h",
		"REDIS_URL=redis://h":                     "REDIS_URL=redis://h",
		"redis://":                                "redis://",
		"redis://:6379":                           "redis://:6379", // an empty variable, rather than this machine
		"redis://h:port":                          "redis://h:port",
		"redis://h:0":                             "redis://h:0",
		"redis://h:65536":                         "redis://h:65536",
		"redis://h/zero":                          "redis://h/zero",
		"redis://h/0/1":                           "redis://h/0/1",
		"redis://h?poolsize=3":                    "redis://h?***",
		"redis://a:1,b:2":                         "redis://a:1,b:2",
		"redis://:" + password + "/x@h":           "redis://***",
		"redis://:" + password + "%zz@h":          "redis://:***@h",
		"unix://run/redis.sock":                   "unix://run/redis.sock", // one slash short
		"unix://":                                 "unix://",
		"redis-cluster://":                        "redis-cluster://",
		"redis-cluster://a:1,,b:2":                "redis-cluster://a:1,,b:2",
		"redis-cluster://a:1/0":                   "redis-cluster://a:1/0", // a cluster has one database
		"redis-cluster://a:1?db=0":                "redis-cluster://a:1?***",
		"redis-cluster://u:" + password + "@a b":  "redis-cluster://u:***@a b",
		"redis-sentinel://a:1":                    "redis-sentinel://a:1", // no master
		"redis-sentinel://a:1/":                   "redis-sentinel://a:1/",
		"redis-sentinel://a:1/m/0":                "redis-sentinel://a:1/m/0",
		"redis-sentinel://a:1/m?db=-1":            "redis-sentinel://a:1/m?***",
		"redis-sentinel://a:1/m?master=" + "x":    "redis-sentinel://a:1/m?***",
		"redis-sentinel://a:1/m?pw=" + password:   "redis-sentinel://a:1/m?***",
		"redis-sentinel://a:1/m#fragment":         "redis-sentinel://a:1/m#fragment",
		"redis-sentinel://a:x/m":                  "redis-sentinel://a:x/m",
		"redis-sentinel://:" + password + "@/m":   "redis-sentinel://:***@/m",
		"redis-sentinel://u@x:" + password + "@/": "redis-sentinel://u@x:***@/",
	} {
		_, err := store.Open(url, store.Options{})
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, url)
		require.Equal(t, "redis_url", invalid.Field)
		require.Equal(t, shown, invalid.Value)
		require.Contains(t, invalid.Want, "a URL ")
		require.NotContains(t, err.Error(), password)

		if url != "" {
			require.Equal(t, invalid, store.ValidURL(config.Config{RedisURL: url}), "the check says the same")
		}
	}
	require.NoError(t, store.ValidURL(config.Config{}))
	require.NoError(t, store.ValidURL(config.Config{RedisURL: "redis://h"}))
}
