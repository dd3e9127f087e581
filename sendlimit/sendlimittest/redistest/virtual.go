package redistest

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Virtual is Embedded within a bubble of testing/synctest: the server has the bubble's clock and
// listens on no socket, for which the bubble would not wait.
func Virtual(tb testing.TB) (*miniredis.Miniredis, *redis.Client) {
	tb.Helper()
	server := miniredis.NewMiniRedis()
	tb.Cleanup(server.Close)
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			pipe, err := server.Dial()
			if err != nil {
				return nil, err //nolint:wrapcheck // the client compares it
			}
			return Buffered(pipe), nil
		},
		// A client that waits for a connection takes a timer from a pool of the whole process,
		// which may be of another bubble: "select on synctest channel from outside bubble".
		PoolSize: 2048,
		// Neither is of use here.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	tb.Cleanup(func() { _ = client.Close() })
	client.AddHook(PassOverAbsent(server))
	if err := client.Ping(tb.Context()).Err(); err != nil { // the server begins with its first connection
		tb.Fatal(err)
	}
	AnswerIdlePolls(server)
	return server, client
}
