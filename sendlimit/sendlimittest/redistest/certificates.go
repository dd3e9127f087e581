package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates for tests. Its files are in one folder.
type Authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates an authority with the certificate File.
func NewAuthority(folder string) (*Authority, error) {
	a := &Authority{folder: folder}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	a.certificate, err = a.sign(template, template, a.key, a.File())
	return a, err
}

// File returns the path of the authority's certificate, in PEM.
func (a *Authority) File() string { return filepath.Join(a.folder, "authority.pem") }

// Issue writes a certificate for servers and clients of these hosts, which are names or
// addresses, and its key, both in PEM. It replaces the files that it wrote before under the
// same name.
func (a *Authority) Issue(name string, hosts ...string) (certificateFile, keyFile string, err error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return "", "", fmt.Errorf("number a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", fmt.Errorf("encode a key: %w", err)
	}
	certificateFile, keyFile = filepath.Join(a.folder, name+".pem"), filepath.Join(a.folder, name+"-key.pem")
	if err := writePEM(keyFile, "PRIVATE KEY", secret); err != nil {
		return "", "", err
	}
	_, err = a.sign(template, a.certificate, key, certificateFile)
	return certificateFile, keyFile, err
}

// sign writes a certificate, which is valid for an hour.
func (a *Authority) sign(
	template, issuer *x509.Certificate, key *ecdsa.PrivateKey, file string,
) (*x509.Certificate, error) {
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(signed)
	if err != nil {
		return nil, fmt.Errorf("read a certificate: %w", err)
	}
	return certificate, writePEM(file, "CERTIFICATE", signed)
}

func writePEM(file, kind string, data []byte) error {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		return fmt.Errorf("write a certificate or key: %w", err)
	}
	return nil
}
