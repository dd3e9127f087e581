package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
)

// Trust has w accept the certificates of roots, before its first delivery.
func (w *Notifier) Trust(roots *x509.CertPool) {
	w.client.Transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// DialBy has w connect by a function, before its first delivery.
func (w *Notifier) DialBy(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	w.client.Transport.DialContext = dial
}

// ResolvedBy has a Callback resolve names by a resolver.
func ResolvedBy(c CallbackConfig, resolver *net.Resolver) CallbackConfig {
	c.dialer = &net.Dialer{Resolver: resolver}
	return c
}
