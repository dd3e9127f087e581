package webhook

import (
	"crypto/tls"
	"crypto/x509"
)

// Trust has w accept the certificates of roots, before its first delivery.
func (w *Notifier) Trust(roots *x509.CertPool) {
	w.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
