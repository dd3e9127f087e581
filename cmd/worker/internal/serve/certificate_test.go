package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issue writes a certificate with a serial number, and its key.
func issue(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"api.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// A renewed certificate is used without a restart. Files that can't be used change nothing, and
// are logged once.
func TestTheCertificateFollowsItsFiles(t *testing.T) {
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	issue(t, certFile, keyFile, 1)
	var log strings.Builder
	now := time.Now()
	c := &certificate{
		certFile: certFile, keyFile: keyFile, now: func() time.Time { return now }, logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	_, err := c.read()
	require.NoError(t, err)
	later := func() int64 {
		now = now.Add(certificateEvery)
		got, err := c.get(&tls.ClientHelloInfo{})
		require.NoError(t, err)
		return got.Leaf.SerialNumber.Int64()
	}
	require.EqualValues(t, 1, later())
	require.Empty(t, log.String())

	issue(t, certFile, keyFile, 2)
	require.EqualValues(t, 2, later())
	require.Contains(t, log.String(), "loaded the new TLS certificate")

	log.Reset()
	renewed, err := os.ReadFile(certFile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certFile, renewed[:len(renewed)/2], 0o600)) // half written
	require.EqualValues(t, 2, later())
	require.EqualValues(t, 2, later())
	require.NoError(t, os.Remove(keyFile))
	require.EqualValues(t, 2, later())
	require.EqualValues(t, 2, later())
	require.Equal(t, 2, strings.Count(log.String(), "is unusable, the former one stays in use"), log.String())

	issue(t, certFile, keyFile, 3)
	require.EqualValues(t, 3, later())
	issue(t, certFile, keyFile, 4)
	got, err := c.get(&tls.ClientHelloInfo{})
	require.NoError(t, err)
	require.EqualValues(t, 3, got.Leaf.SerialNumber.Int64(), "the files are not read at each handshake")
}
