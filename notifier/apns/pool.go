package apns

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// pingAfter is how long a connection may be silent before it is asked whether it lives, and
	// pingTimeout how long it has to answer.
	pingAfter   = 15 * time.Second
	pingTimeout = 5 * time.Second
	// idleTime is how long a connection without pushes is kept. Apple asks to keep them, and
	// pings find those that it closed.
	idleTime = 30 * time.Minute
)

// pool sends requests over a bounded number of HTTP/2 connections. It is an http.RoundTripper.
//
// A lane has one connection at most, which is opened by the first request, and again after a
// GOAWAY. A request goes to the lane with the fewest requests, and waits there while the
// server's SETTINGS_MAX_CONCURRENT_STREAMS allows no more.
type pool struct {
	roots *x509.CertPool

	mu    sync.Mutex
	lanes []*lane
}

// lane is a connection, or room for one.
type lane struct {
	transport *http.Transport
	inFlight  int  // guarded by the pool
	retired   bool // likewise: it takes no more requests
}

func newPool(connections int, roots *x509.CertPool) *pool {
	p := &pool{roots: roots, lanes: make([]*lane, connections)}
	for i := range p.lanes {
		p.lanes[i] = p.newLane()
	}
	return p
}

func (p *pool) newLane() *lane {
	transport := exchange.NewTransport(&net.Dialer{}, 1)
	transport.TLSClientConfig = &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12}
	transport.MaxConnsPerHost = 1
	transport.IdleConnTimeout = idleTime
	transport.HTTP2 = &http.HTTP2Config{
		StrictMaxConcurrentRequests: true, SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: pingTimeout,
	}
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP2(true)
	return &lane{transport: transport}
}

// laneKey is the context's key of a **lane, where RoundTrip puts the lane that it used.
type laneKey struct{}

// RoundTrip sends a request. net/http sends it again, on a new connection, if the server
// certainly did not process it: it refused the stream, or a GOAWAY names a lower one.
func (p *pool) RoundTrip(request *http.Request) (*http.Response, error) {
	l := p.take()
	if used, ok := request.Context().Value(laneKey{}).(**lane); ok {
		*used = l
	}
	response, err := l.transport.RoundTrip(request)
	if err != nil {
		p.leave(l)
		return nil, err //nolint:wrapcheck // package exchange describes it
	}
	response.Body = &body{ReadCloser: response.Body, leave: sync.OnceFunc(func() { p.leave(l) })}
	return response, nil
}

// body is the body of an answer, whose end is the end of a request.
type body struct {
	io.ReadCloser

	leave func()
}

// Close ends the request.
func (b *body) Close() error {
	defer b.leave()
	return b.ReadCloser.Close() //nolint:wrapcheck // it stands for the other
}

// take returns the lane with the fewest requests, the first of several.
func (p *pool) take() *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	least := p.lanes[0]
	for _, l := range p.lanes[1:] {
		if l.inFlight < least.inFlight {
			least = l
		}
	}
	least.inFlight++
	return least
}

func (p *pool) leave(l *lane) {
	p.mu.Lock()
	l.inFlight--
	over := l.retired && l.inFlight == 0
	p.mu.Unlock()
	if over {
		l.transport.CloseIdleConnections()
	}
}

// retire closes a lane's connection once its requests have ended, and has a new one in its
// place, which is the first that take looks at. With nil it does so for all.
func (p *pool) retire(which *lane) {
	p.mu.Lock()
	var over []*lane
	for i, l := range p.lanes {
		if which != nil && l != which {
			continue
		}
		l.retired = true
		p.lanes[i], p.lanes[0] = p.lanes[0], p.newLane()
		if l.inFlight == 0 {
			over = append(over, l)
		}
	}
	p.mu.Unlock()
	for _, l := range over {
		l.transport.CloseIdleConnections()
	}
}
