package redistest

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// LosingReplies returns a client of a server, and what makes it lose the next reply: the
// connection ends after the command, which the client then repeats. The flag is false again
// once the reply is lost.
func LosingReplies(tb testing.TB, address string) (*redis.Client, *atomic.Bool) {
	tb.Helper()
	lose := new(atomic.Bool)
	client := redis.NewClient(&redis.Options{
		Addr: address,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return lossyConn{conn, lose}, err
		},
	})
	tb.Cleanup(func() { require.NoError(tb, client.Close()) })
	return client, lose
}

// lossyConn loses a reply once lose is set.
type lossyConn struct {
	net.Conn

	lose *atomic.Bool
}

// Read reads, and drops the result.
func (c lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lose.CompareAndSwap(true, false) {
		return 0, io.EOF
	}
	return n, err
}
