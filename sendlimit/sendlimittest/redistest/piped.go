package redistest

import (
	"context"
	"net"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/pipe"
)

// pipeTo returns a dialer that reaches a server by a pipe, until the server is closed. A call costs
// a quarter less processor time than through a socket.
func pipeTo(s *server.Server) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		if s.Addr() == nil {
			return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
		}
		ours, theirs := net.Pipe()
		s.ServeConn(theirs)
		return pipe.Buffered(ours), nil
	}
}

// PipedOptions returns ClientOptions of an embedded server with pipes as connections. Once the
// server is closed, they are sockets, which reach a restarted server.
func PipedOptions(server *miniredis.Miniredis) *redis.Options {
	o := ClientOptions(server.Addr())
	dial := pipeTo(server.Server())
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if conn, err := dial(ctx, network, address); err == nil {
			return conn, nil
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return o
}
