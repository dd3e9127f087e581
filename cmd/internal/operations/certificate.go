package operations

import (
	"crypto/x509"
	"encoding/pem"
)

// nameIn returns a name that the first certificate of a PEM file is for, "" if it has none.
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
