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

// certificateEvery is how often handshakes look whether the files of the certificate changed.
const certificateEvery = 5 * time.Second

// certificate is the certificate of the API. It follows its files: a handshake that finds them
// changed reads them again, so that a renewed certificate needs no restart.
type certificate struct {
	certFile, keyFile string
	now               func() time.Time
	logger            *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	content []byte // of both files, as last seen
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
			Field: "tls_cert", Value: certFile, Want: fmt.Sprintf("a certificate whose key tls_key has, both in PEM (%v)", err),
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

// follow reads the files, and logs what came of a change. The former certificate stays if the
// files can't be used: they may be half written.
func (c *certificate) follow(ctx context.Context) {
	changed, err := c.read()
	switch {
	case err != nil && changed:
		c.logger.ErrorContext(ctx, "the changed TLS certificate can't be used, the former one stays: see tls_cert and tls_key", "error", err)
	case changed:
		c.logger.InfoContext(ctx, "the TLS certificate was read again", "until", c.current.Leaf.NotAfter)
	}
}

// read makes what the files have the current certificate, and reports whether they changed. After
// an error they count as changed once.
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

// seen keeps a content, and reports whether it is another than before.
func (c *certificate) seen(content []byte) bool {
	if bytes.Equal(content, c.content) {
		return false
	}
	c.content = content
	return true
}
