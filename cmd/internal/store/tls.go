package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// keepAlive detects a server that disappeared, as the client library's own dialer does.
const keepAlive = 30 * time.Second

// secured connects with TLS. It reads the files of the settings for each connection, so
// that new ones need no restart.
type secured struct {
	files  config.RedisTLS
	base   *tls.Config // from the URL
	logger *slog.Logger

	mu      sync.Mutex
	current *tls.Config // as last read
	problem string      // why the files can't be read; "" if they can
}

// newSecured reads the files. The error is a *fault.InvalidError.
func newSecured(files config.RedisTLS, base *tls.Config, logger *slog.Logger) (*secured, error) {
	s := &secured{files: files, base: base, logger: logger}
	read, problem := s.read()
	if problem != nil {
		return nil, problem
	}
	s.current = read
	return s, nil
}

// dial connects to a server of the store. It is the dialer of a client.
func (s *secured) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: keepAlive}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err // the client library and store.Explain look at its type
	}
	settings := s.settings(ctx).Clone()
	if settings.ServerName == "" {
		if settings.ServerName, _, err = net.SplitHostPort(address); err != nil {
			return nil, errors.Join(fmt.Errorf("reading the address of a server: %w", err), conn.Close())
		}
	}
	secure := tls.Client(conn, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // says nothing that err does not
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: %w", &silentError{address: address}, err)
		}
		return nil, err
	}
	return secure, nil
}

// silentError is returned for a server that does not answer the TLS handshake in time.
type silentError struct{ address string }

// Error names the server.
func (e *silentError) Error() string { return "no TLS from " + e.address }

// settings returns the current settings of the files. While they can't be read, or certificate and
// key do not match, as in the middle of a change, it returns the previous settings.
func (s *secured) settings(ctx context.Context) *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, problem := s.read()
	if problem == nil {
		s.current, s.problem = read, ""
		return read
	}
	if s.problem != problem.Error() {
		s.problem = problem.Error()
		s.logger.WarnContext(ctx, "can't read the TLS files for Redis: the previous ones stay in use", "error", problem)
	}
	return s.current
}

func (s *secured) read() (*tls.Config, *fault.InvalidError) {
	read := s.base.Clone()
	if s.files.ServerName != "" {
		read.ServerName = s.files.ServerName
	}
	if s.files.CA != "" {
		text, err := os.ReadFile(s.files.CA)
		if err != nil {
			return nil, fault.Wrong("redis_tls_ca", "redis_tls_ca: %v", err)
		}
		read.RootCAs = x509.NewCertPool()
		if !read.RootCAs.AppendCertsFromPEM(text) {
			return nil, fault.Wrong("redis_tls_ca", "redis_tls_ca: %s has no certificate in PEM", s.files.CA)
		}
	}
	if s.files.Cert != "" {
		pair, err := tls.LoadX509KeyPair(s.files.Cert, s.files.Key)
		if err != nil {
			return nil, &fault.InvalidError{
				Field: "redis_tls_cert", Value: s.files.Cert,
				Want: fmt.Sprintf("a certificate that fits the key in redis_tls_key, both in PEM (%v)", err),
			}
		}
		read.Certificates = []tls.Certificate{pair}
	}
	return read, nil
}
