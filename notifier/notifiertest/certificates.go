package notifiertest

import (
	"crypto/x509"
	"encoding/pem"
)

// Certificate returns the server's certificate in PEM, for the file that SSL_CERT_FILE names.
func (s *FCMServer) Certificate() []byte { return encodePEM(s.server.Certificate()) }

// Certificate returns the server's certificate in PEM, for the file that SSL_CERT_FILE names.
func (s *APNsServer) Certificate() []byte { return encodePEM(s.root) }

// Certificate returns the server's certificate in PEM, for the file that SSL_CERT_FILE names.
func (s *PushService) Certificate() []byte { return encodePEM(s.server.Certificate()) }

func encodePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
