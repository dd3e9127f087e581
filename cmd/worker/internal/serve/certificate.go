package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// certificateEvery is how often handshakes check the files of the certificate for changes.
const certificateEvery = 5 * time.Second

// certificate is the certificate of the API. A handshake that finds changed files reads them again,
// so a renewed certificate needs no restart.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	logger            *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	content []byte // of both files, as last read
	lookAt  time.Time
}

// tlsOf reads the files of a certificate and its key. It returns nil if there are none. The
// error is a *fault.InvalidError.
func tlsOf(certFile, keyFile string, logger *slog.Logger) (*tls.Config, error) {
	if certFile == "" {
		return nil, nil
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, now: time.Now, logger: logger}
	if _, err := c.read(); err != nil {
		return nil, &fault.InvalidError{
			Field: "tls_cert", Value: certFile, Want: fmt.Sprintf("a certificate that fits the key in tls_key, both in PEM (%v)", err),
		}
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}, nil
}

// get returns the certificate for a handshake.
func (c *certificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); !now.Before(c.lookAt) {
		c.lookAt = now.Add(certificateEvery)
		c.follow(hello.Context())
	}
	return c.current, nil
}

// follow reads the files, and logs the result of a change. The former certificate stays in use if
// the files are unusable: they may be half written.
func (c *certificate) follow(ctx context.Context) {
	changed, err := c.read()
	switch {
	case err != nil && changed:
		c.logger.ErrorContext(ctx, "the new TLS certificate is unusable, the former one stays in use: see tls_cert and tls_key", "error", err)
	case changed:
		c.logger.InfoContext(ctx, "loaded the new TLS certificate", "until", c.current.Leaf.NotAfter)
	}
}

// read loads the certificate from the files, and reports whether they changed. A failure is
// reported once.
func (c *certificate) read() (changed bool, err error) {
	certPEM, err := reload.Read(c.certFile)
	if err != nil {
		return c.seen([]byte(err.Error())), err
	}
	keyPEM, err := reload.Read(c.keyFile)
	if err != nil {
		return c.seen([]byte(err.Error())), err
	}
	if !c.seen(append(certPEM, keyPEM...)) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return true, err
	}
	c.current = &pair
	return true, nil
}

// seen stores a content, and reports whether it has changed.
func (c *certificate) seen(content []byte) bool {
	if bytes.Equal(content, c.content) {
		return false
	}
	c.content = content
	return true
}
