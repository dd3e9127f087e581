package integration_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// link is a connection to a server that can lose requests and answers.
type link struct {
	listener net.Listener
	server   string
	running  sync.WaitGroup

	mu    sync.Mutex
	open  []net.Conn
	loses string // a word; a write that contains it is lost
	deaf  string // a word; a side that writes it never gets an answer again

	deafened chan struct{} // gets one when the server has what made a side deaf
}

func newLink(t *testing.T, server string) *link {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{listener: listener, server: server, deafened: make(chan struct{}, 1)}
	l.running.Go(func() { l.accept(context.WithoutCancel(t.Context())) })
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
		l.running.Wait()
	})
	return l
}

// options returns the options of a client that reaches a database by the link.
func (l *link) options(of *redistest.Database) *redis.Options {
	o := of.Options()
	o.Addr = l.listener.Addr().String()
	return o
}

// set sets what is lost from now on; "" means nothing.
func (l *link) set(loses, deaf string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loses, l.deaf = loses, deaf
}

// cut breaks all open connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

func (l *link) accept(ctx context.Context) {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := new(net.Dialer).DialContext(ctx, "tcp", l.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		l.mu.Lock()
		l.open = append(l.open, near, far)
		l.mu.Unlock()
		heard := &mouth{to: near}
		l.running.Go(func() { l.carry(near, &mouth{to: far}, heard) })
		l.running.Go(func() { l.carry(far, heard, nil) })
	}
}

// mouth is one direction of a connection, until it is shut.
type mouth struct {
	mu   sync.Mutex
	to   net.Conn
	shut bool
}

func (m *mouth) say(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut {
		return nil
	}
	_, err := m.to.Write(text)
	return err
}

func (m *mouth) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut = true
}

// carry passes on what one side writes. For requests, answers is the other direction.
func (l *link) carry(from net.Conn, to, answers *mouth) {
	defer from.Close()
	defer to.to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		text := buffer[:n]
		loses, deaf := false, false
		if answers != nil {
			loses, deaf = l.losing(text)
		}
		if loses {
			continue
		}
		if deaf {
			answers.close()
		}
		if err := to.say(text); err != nil {
			return
		}
		if deaf {
			select {
			case l.deafened <- struct{}{}:
			default:
			}
		}
	}
}

func (l *link) losing(text []byte) (loses, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loses = l.loses != "" && bytes.Contains(text, []byte(l.loses))
	deaf = l.deaf != "" && bytes.Contains(text, []byte(l.deaf))
	return loses, deaf
}
