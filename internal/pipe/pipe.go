package pipe

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Buffered returns a connection that accepts up to 1,024 writes before the other side of a pipe
// reads, as a socket does: a client that writes a long pipeline does not read meanwhile, and
// neither does a server that answers it.
func Buffered(pipe net.Conn) net.Conn {
	conn := &bufferedConn{Conn: pipe, out: make(chan []byte, 1024), closed: make(chan struct{})}
	go conn.flush()
	return conn
}

type bufferedConn struct {
	net.Conn

	out    chan []byte
	once   sync.Once
	closed chan struct{}
}

func (c *bufferedConn) Write(p []byte) (int, error) {
	select {
	case c.out <- slices.Clone(p):
		return len(p), nil
	case <-c.closed:
		return 0, syscall.EPIPE
	}
}

func (c *bufferedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, asSocket(err)
}

func (c *bufferedConn) SetReadDeadline(at time.Time) error {
	return asSocket(c.Conn.SetReadDeadline(at))
}

func (c *bufferedConn) SetWriteDeadline(at time.Time) error {
	return asSocket(c.Conn.SetWriteDeadline(at))
}

// asSocket turns the error of a closed pipe into the error of a closed connection.
func asSocket(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

func (c *bufferedConn) flush() {
	for {
		select {
		case p := <-c.out:
			if _, err := c.Conn.Write(p); err != nil {
				_ = c.Close()
				return
			}
		case <-c.closed:
			return
		}
	}
}

func (c *bufferedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
