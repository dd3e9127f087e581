package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

// What is written differently and means the same is one address, without credentials.
func TestAddressOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://Redis.Example.com.":                                       "redis.example.com:6379/0",
		"rediss://u:hunter2@redis.example.com:6379/0?read_timeout=7s":      "redis.example.com:6379/0",
		"redis://10.0.0.7:1/3":                                             "10.0.0.7:1/3",
		"redis://127.0.0.1":                                                "localhost:6379/0",
		"redis://[::1]:6379":                                               "localhost:6379/0",
		"redis://[2001:DB8:0::1]":                                          "[2001:db8::1]:6379/0",
		"redis://[::ffff:10.0.0.7]:1":                                      "10.0.0.7:1/0",
		"unix://u:hunter2@/run/my redis.sock?db=4":                         "/run/my%20redis.sock/4",
		"redis-sentinel://u:hunter2@B,A:1,b:26379/my%20master?db=2":        "a:1/my%20master/2 b:26379/my%20master/2",
		"rediss-sentinel://a:1/m?sentinel_username=u&sentinel_password=pw": "a:1/m/0",
		"redis-cluster://u:hunter2@b:7001,A":                               "a:6379 b:7001",
	} {
		address, err := store.AddressOf(url)
		require.NoError(t, err, url)
		require.Equal(t, want, address.String(), url)
	}
	_, err := store.AddressOf("redis://u:hunter2@:x")
	require.ErrorContains(t, err, "redis_url")
	require.NotContains(t, err.Error(), "hunter2")
}
