package redistest

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ClientOptions returns the options with which the programs connect to the server at an
// address, with two differences. A command is tried once, so that a test soon learns that a
// store is away. A reply may take a minute, since a busy machine runs a test slowly.
func ClientOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Durable returns arguments for a redis-server that has each write in its log before it answers,
// so that it may be killed. It does not wait for the disk, as appendfsync always would: that is
// for a machine that loses its power, and holds a server up for seconds on a busy one.
func Durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "no"} }
