package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	maxAnswerHeader = 64 << 10
	// idleTime is shorter than the idle timeout of most servers and load balancers: a request that
	// is sent while they close the connection is lost.
	idleTime = 30 * time.Second
)

// NewTransport returns a transport without a proxy that keeps this number of idle connections to a
// host. It trusts roots; nil means those of the system. The default transport uses a proxy from the
// environment, and keeps two connections.
func NewTransport(dialer *net.Dialer, parallel int, roots *x509.CertPool) *http.Transport {
	dialer.Timeout, dialer.KeepAlive = 5*time.Second, 30*time.Second
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
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

// proxyError is a proxy's refusal to connect.
type proxyError struct{ status int }

func (e *proxyError) Error() string {
	return "the proxy answered with HTTP status " + strconv.Itoa(e.status)
}
