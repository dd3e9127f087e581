package redistest

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Apart starts an embedded cluster and returns a client of it. It has a master for each of the
// lengths, with as many slots as the others. The master's clock is ahead by that length: its
// TIME, and the time that its scripts see. All ends with the test.
func Apart(tb testing.TB, ahead ...time.Duration) *redis.ClusterClient {
	tb.Helper()
	const slots = 16384
	servers, ranges := make(map[string]*miniredis.Miniredis), make([]redis.ClusterSlot, len(ahead))
	for i, by := range ahead {
		master := miniredis.NewMiniRedis()
		tb.Cleanup(master.Close)
		address := "master-" + strconv.Itoa(i) + ":6379"
		servers[address] = master
		ranges[i] = redis.ClusterSlot{
			Start: i * slots / len(ahead), End: (i+1)*slots/len(ahead) - 1, Nodes: []redis.ClusterNode{{Addr: address}},
		}
		pipe, err := master.Dial() // the server begins with its first connection
		if err != nil {
			tb.Fatal(err)
		}
		_ = pipe.Close()
		AnswerIdlePolls(master, Ahead(func() time.Duration { return by }))
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return ranges, nil },
		Dialer: func(_ context.Context, _, address string) (net.Conn, error) {
			pipe, err := servers[address].Dial()
			if err != nil {
				return nil, err //nolint:wrapcheck // the client compares it
			}
			return Buffered(pipe), nil
		},
		PoolSize: 2048, ContextTimeoutEnabled: true, DisableIdentity: true, ReadTimeout: time.Minute,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	tb.Cleanup(func() { _ = client.Close() })
	return client
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
