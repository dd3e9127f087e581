package redistest

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// ListenTLS makes the server listen with TLS too, on another port, and returns the address
// there. Its certificate is for hosts. Clients need a certificate of the authority if
// clients is set. A second call replaces the certificate, and keeps the port.
func (s *Server) ListenTLS(ctx context.Context, authority *Authority, clients bool, hosts ...string) (string, error) {
	if s.tlsPort == 0 {
		port, err := freePort(ctx)
		if err != nil {
			return "", err
		}
		s.tlsPort = port
	}
	certificate, key, err := authority.Issue("server-"+strconv.Itoa(s.tlsPort), hosts...)
	if err != nil {
		return "", err
	}
	auth := "no"
	if clients {
		auth = "yes"
	}
	err = s.client.Do(ctx, "config", "set", "tls-ca-cert-file", authority.File(), "tls-cert-file", certificate,
		"tls-key-file", key, "tls-auth-clients", auth, "tls-port", s.tlsPort).Err()
	if err != nil {
		return "", fmt.Errorf("make redis listen with TLS: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.tlsPort)), nil
}
