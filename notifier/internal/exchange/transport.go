package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

const (
	maxAnswerHeader = 64 << 10
	// idleTime is shorter than the idle timeout of most servers and load balancers, so
	// that we close a connection before they do: a request sent meanwhile is lost.
	idleTime = 30 * time.Second
)

// NewTransport returns a transport without a proxy, which keeps so many idle connections to
// one host. The default transport uses a proxy from the environment and keeps two.
func NewTransport(dialer *net.Dialer, parallel int) *http.Transport {
	dialer.Timeout, dialer.KeepAlive = 5*time.Second, 30*time.Second
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		// Without pings a dead HTTP/2 connection accepts requests until the
		// operating system drops it, 15 minutes later.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConns:           parallel,
		MaxIdleConnsPerHost:    parallel,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true, // bodies are short or not used
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return &proxyError{status: answer.StatusCode}
			}
			return nil
		},
	}
}

// NewHTTP2Transport returns a transport that speaks only HTTP/2 over TLS, without a proxy. It
// dials once for all requests that wait for a connection, and another connection when the
// server takes no more requests on the present ones. The transport of net/http dials one for
// each request that comes before the first connection is made. A nil roots means the system's.
func NewHTTP2Transport(dialer *net.Dialer, roots *x509.CertPool) *http2.Transport {
	dialer.Timeout, dialer.KeepAlive = 5*time.Second, 30*time.Second
	return &http2.Transport{
		DialTLSContext: func(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
			ctx, done := context.WithTimeout(ctx, 2*dialer.Timeout) // TCP and TLS
			defer done()
			conn, err := (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err //nolint:wrapcheck // Client describes it
			}
			if secured, ok := conn.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
				return nil, errors.Join(errNoHTTP2, conn.Close())
			}
			return conn, nil
		},
		TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{http2.NextProtoTLS}},
		DisableCompression: true, // bodies are short or not used
		MaxHeaderListSize:  maxAnswerHeader,
		IdleConnTimeout:    10 * time.Minute, // pings notice a connection that is gone
		ReadIdleTimeout:    15 * time.Second,
		PingTimeout:        5 * time.Second,
	}
}

// errNoHTTP2 is returned when a server does not agree on HTTP/2.
var errNoHTTP2 = errors.New("the server does not speak HTTP/2")

// proxyError is a proxy's refusal to connect.
type proxyError struct{ status int }

func (e *proxyError) Error() string {
	return "the proxy answered with HTTP status " + strconv.Itoa(e.status)
}
