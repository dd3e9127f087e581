package operations

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// StoreHeader has the value Embedded in each answer of a worker on the embedded store. Other
// workers do not send it.
const (
	StoreHeader = "Sendlimit-Store"
	Embedded    = "embedded"
)

// dialTimeout bounds the attempt to connect to a worker.
const dialTimeout = 3 * time.Second

// WorkerAt returns the URL, without a path, at which this machine reaches a worker that listens at
// an address, and the settings to check its certificate, which is in a file; "" and nil without
// TLS.
func WorkerAt(address, certificate string) (base string, secured *tls.Config, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, fault.Wrong("listen", "invalid address %s: %v", address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if certificate == "" {
		return "http://" + net.JoinHostPort(host, port), nil, nil
	}
	secured, err = trust(certificate)
	return "https://" + net.JoinHostPort(host, port), secured, err
}

// trust returns settings that accept the certificate in a file, whatever its address is.
func trust(file string) (*tls.Config, error) {
	content, err := os.ReadFile(file)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(content) {
		return nil, &fault.InvalidError{Field: "tls_cert", Value: file, Want: "a certificate in PEM that this program can read"}
	}
	return &tls.Config{RootCAs: pool, ServerName: nameIn(content), MinVersion: tls.VersionTLS12}, nil
}

// worker is the transport to the worker on this machine, for settings that name neither an API nor
// a store. It warns once on stderr before it changes a store that is not the embedded one.
type worker struct {
	*http.Transport

	base   string
	stderr io.Writer

	embedded atomic.Bool
	said     sync.Once
}

// newWorker returns the transport to the worker at the address of the settings, if one listens
// there.
func newWorker(ctx context.Context, c config.Config, p cli.Program) (*worker, error) {
	if c.Listen == "" {
		return nil, fault.Wrong("listen", "listen is off, so the worker has no API: set listen, or name an API (--api) or a store (--redis-url)")
	}
	base, secured, err := WorkerAt(c.Listen, c.TLSCert)
	if err != nil {
		return nil, err
	}
	_, address, _ := strings.Cut(base, "://")
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &fault.UnavailableError{Detail: fmt.Sprintf("no worker at %s: %v; start one with sendlimit-worker run, or name an API (--api, SENDLIMIT_API)"+
			" or a store (--redis-url, REDIS_URL)", base, err), Err: err}
	}
	_ = conn.Close()
	return &worker{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, TLSClientConfig: secured}, base: base, stderr: p.Stderr,
	}, nil
}

// RoundTrip sends a request.
func (w *worker) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.Transport.RoundTrip(r)
	if err != nil {
		return nil, err //nolint:wrapcheck // as a transport returns it
	}
	w.embedded.Store(response.Header.Get(StoreHeader) == Embedded)
	if r.Method != http.MethodGet && !w.embedded.Load() {
		w.said.Do(func() { _, _ = fmt.Fprint(w.stderr, w) })
	}
	return response, nil
}

// String names the worker and its store, once it has answered.
func (w *worker) String() string {
	if w.embedded.Load() {
		return "answered by the worker at " + w.base + ", on its embedded store\n"
	}
	return "answered by the worker at " + w.base + ", whose store is not the embedded one\n"
}

// nameIn returns a name of the first certificate of a PEM file, "" if it has none.
func nameIn(content []byte) string {
	block, _ := pem.Decode(content)
	if block == nil {
		return ""
	}
	first, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return ""
	case len(first.DNSNames) > 0:
		return first.DNSNames[0]
	case len(first.IPAddresses) > 0:
		return first.IPAddresses[0].String()
	}
	return ""
}
