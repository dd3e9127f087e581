package apns

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// dialTime bounds the setup of a connection, with TLS.
const dialTime = 10 * time.Second

var errClosed = errors.New("the channel is closed")

// pool keeps a bounded number of connections to one server. A request uses the oldest connection
// with a free stream. If there is none, it waits, and a new connection is opened if there are fewer
// than most. It is safe for concurrent use.
//
// net/http's pool with Transport.MaxConnsPerHost does not work over HTTP/2: it opens many more
// connections, opens streams before it knows how many are allowed, and after a GOAWAY requests wait
// until they time out, see golang.org/issue/34941.
type pool struct {
	transport       *http.Transport
	scheme, address string
	most            int
	// changed has an entry if a stream or a place for a connection may be free. A receiver checks,
	// and puts the entry back if there may be more.
	changed chan struct{}

	mu     sync.Mutex
	conns  []*conn // that accept requests
	dialed uint64  // the number of dials
	dial   *dial   // the running one, or nil
	closed bool
}

type conn struct {
	*http.ClientConn

	number   uint64 // of the dial
	capacity int    // concurrent streams, as last seen
	// proven is set after the first answer. Until then it has one request: Apple allows one stream
	// until it has seen a provider token, and its SETTINGS may not have arrived.
	proven atomic.Bool
	// retired is set if it accepts no more requests. It is closed after the last stream.
	retired atomic.Bool
}

// dial is an attempt to open a connection.
type dial struct {
	done   chan struct{}
	err    error // valid when done
	cancel context.CancelFunc
}

func newPool(transport *http.Transport, scheme, address string, most int) *pool {
	return &pool{transport: transport, scheme: scheme, address: address, most: most, changed: make(chan struct{}, 1)}
}

// acquire returns a connection with a reserved stream. It waits until ctx ends.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	var failed error // the dial that this call waited for
	for {
		if err := ctx.Err(); err != nil {
			p.signal()
			return nil, err
		}
		c, dialing, err := p.look(ctx, failed)
		if c != nil || err != nil {
			p.signal()
			return c, err
		}
		var done <-chan struct{}
		if dialing != nil {
			done = dialing.done
		}
		select {
		case <-p.changed:
		case <-done:
			failed = dialing.err
		case <-ctx.Done():
		}
	}
}

// look returns a connection with a reserved stream, or the dial to wait for.
func (p *pool) look(ctx context.Context, failed error) (*conn, *dial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	p.conns = slices.DeleteFunc(p.conns, func(c *conn) bool { return c.Err() != nil })
	for _, c := range slices.Clone(p.conns) {
		if c.reserve() {
			return c, nil, nil
		}
		if c.ended() {
			p.retire(c)
		}
	}
	switch {
	case failed != nil && len(p.conns) == 0:
		return nil, nil, failed
	case failed != nil:
		return nil, nil, nil // a stream will become free
	case p.dial == nil && len(p.conns) < p.most:
		p.startDial(ctx)
	}
	return nil, p.dial, nil
}

// reserve reserves a stream if one is free. The caller holds the pool's lock.
func (c *conn) reserve() bool {
	if !c.proven.Load() && c.InFlight() > 0 || c.Reserve() != nil {
		return false
	}
	c.capacity = 1
	if c.proven.Load() {
		// In this order, a stream that ends in between makes the sum too small, never too large.
		c.capacity = c.Available() + c.InFlight()
	}
	return true
}

// ended reports whether a connection accepts no more requests although it has free streams, as
// after a GOAWAY. The caller holds the pool's lock.
func (c *conn) ended() bool {
	if c.InFlight() >= max(c.capacity, 1) {
		return false
	}
	// A stream is free, and the lock keeps others from reserving one.
	if c.Reserve() != nil {
		return true
	}
	c.Release()
	return false
}

// startDial opens a connection. It does not end with the request's context, since others wait for
// it, too. The caller holds the lock.
func (p *pool) startDial(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTime)
	p.dialed++
	d, number := &dial{done: make(chan struct{}), cancel: cancel}, p.dialed
	p.dial = d
	go func() {
		defer cancel()
		made, err := p.transport.NewClientConn(ctx, p.scheme, p.address)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dial = nil
		switch {
		case err != nil:
			d.err = err
		case p.closed:
			_ = made.Close()
			d.err = errClosed
		default:
			c := &conn{ClientConn: made, number: number}
			made.SetStateHook(func(*http.ClientConn) { p.observe(c) })
			p.conns = append(p.conns, c)
		}
		close(d.done)
		p.signal()
	}()
}

// observe runs when a stream ends, and when the state or the limit of the connection changes. The
// same goroutine may hold the pool's lock.
func (p *pool) observe(c *conn) {
	if c.retired.Load() && c.InFlight() == 0 {
		_ = c.Close()
	}
	p.signal()
}

func (p *pool) signal() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// retireThrough retires the connections up to this number.
func (p *pool) retireThrough(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Clone(p.conns) {
		if c.number <= number {
			p.retire(c)
		}
	}
	p.signal()
}

// retireOne retires one connection.
func (p *pool) retireOne(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retire(c)
	p.signal()
}

// retire stops new requests on a connection, and closes it after its last stream. The caller holds
// the lock.
func (p *pool) retire(c *conn) {
	p.conns = slices.DeleteFunc(p.conns, func(other *conn) bool { return other == c })
	c.retired.Store(true)
	if c.InFlight() == 0 {
		_ = c.Close()
	}
}

// close ends the connections as soon as they are idle, and opens no more.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range slices.Clone(p.conns) {
		p.retire(c)
	}
	dialing := p.dial
	p.mu.Unlock()
	p.signal()
	if dialing != nil {
		dialing.cancel()
		<-dialing.done
	}
}
