package redistest

import (
	"context"
	"net"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// PipedOptions returns ClientOptions of an embedded server whose connections are pipes. Once
// the server is closed they are sockets: nobody listens, or one that was started again.
func PipedOptions(server *miniredis.Miniredis) *redis.Options {
	o := ClientOptions(server.Addr())
	pipe := pipeTo(server.Server())
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if conn, err := pipe(ctx, network, address); err == nil {
			return conn, nil
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return o
}
