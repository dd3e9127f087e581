package redistest

import (
	"context"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sendlimit/sendlimiter/internal/pipe"
)

// Masters are those of an embedded cluster. Each has as many slots as the others. A single one is
// no cluster.
type Masters []*miniredis.Miniredis

// Apart starts a master for each of the lengths. The master's clock is ahead by that length and the
// present step: its TIME, and the time that its scripts see. All ends with the test.
func Apart(tb testing.TB, step func() time.Duration, ahead ...time.Duration) Masters {
	tb.Helper()
	var masters Masters
	for _, by := range ahead {
		master := miniredis.NewMiniRedis()
		tb.Cleanup(master.Close)
		first, err := master.Dial() // the server begins with its first connection
		if err != nil {
			tb.Fatal(err)
		}
		_ = first.Close()
		AnswerIdlePolls(master, Ahead(func() time.Duration { return by + step() }))
		masters = append(masters, master)
	}
	return masters
}

// Client returns a client of all masters. A hook sees what it asks each of them; nil for none.
func (m Masters) Client(hook redis.Hook) redis.UniversalClient {
	const slots = 16384
	addresses, ranges := make([]string, len(m)), make([]redis.ClusterSlot, len(m))
	for i := range m {
		addresses[i] = "master-" + strconv.Itoa(i) + ":6379"
		ranges[i] = redis.ClusterSlot{
			Start: i * slots / len(m), End: (i+1)*slots/len(m) - 1, Nodes: []redis.ClusterNode{{Addr: addresses[i]}},
		}
	}
	connect := func(o *redis.Options) *redis.Client {
		client := redis.NewClient(o)
		client.AddHook(PassOverAbsent(m[slices.Index(addresses, o.Addr)]))
		if hook != nil {
			client.AddHook(hook)
		}
		return client
	}
	o := &redis.UniversalOptions{
		Addrs: addresses,
		Dialer: func(_ context.Context, _, address string) (net.Conn, error) {
			conn, err := m[slices.Index(addresses, address)].Dial()
			if err != nil {
				return nil, err
			}
			return pipe.Buffered(conn), nil
		},
		// A client that waits for a connection takes a timer from a pool of the whole process,
		// which may be of another bubble: "select on synctest channel from outside bubble".
		PoolSize:              2048,
		ContextTimeoutEnabled: true, ReadTimeout: time.Minute,
		// Neither is of use here.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if len(m) == 1 {
		return connect(o.Simple())
	}
	cluster := o.Cluster()
	cluster.NewClient = connect
	cluster.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) { return ranges, nil }
	return redis.NewClusterClient(cluster)
}

// With returns the master that has a key, the first one if none has it.
func (m Masters) With(key string) *miniredis.Miniredis {
	for _, master := range m {
		if master.Exists(key) {
			return master
		}
	}
	return m[0]
}

// Keys lists the keys of all masters.
func (m Masters) Keys() (keys []string) {
	for _, master := range m {
		keys = append(keys, master.Keys()...)
	}
	return keys
}

// Ahead answers TIME, also within scripts, by a clock that is ahead of this process's.
func Ahead(by func() time.Duration) server.Hook {
	return func(peer *server.Peer, command string, _ ...string) bool {
		ahead := by()
		if command != "TIME" || ahead == 0 {
			return false
		}
		now := time.Now().Add(ahead)
		peer.WriteLen(2)
		peer.WriteBulk(strconv.FormatInt(now.Unix(), 10))
		peer.WriteBulk(strconv.Itoa(now.Nanosecond() / 1000))
		return true
	}
}
