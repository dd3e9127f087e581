package config

import "github.com/sendlimit/sendlimiter/sendlimit/fault"

// RedisTLS is how this program and the servers of the store recognise each other. It needs
// a RedisURL that uses TLS. The zero value trusts the machine's authorities, and shows no
// certificate.
type RedisTLS struct {
	// CA is the file of the authorities that sign the servers' certificates; empty means
	// those of the machine.
	CA string
	// Cert and Key are the files of the certificate that the servers see; both are empty
	// for none.
	Cert, Key string
	// ServerName is the name in the servers' certificates; empty means the host of each
	// server's address.
	ServerName string
}

type writtenRedisTLS struct {
	CA         string `env:"CA"`
	Cert       string `env:"CERT"`
	Key        string `env:"KEY"`
	ServerName string `env:"SERVER_NAME"`
}

// redisTLSSettings returns the rows of the table about TLS to the store.
func redisTLSSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "redis_tls_ca", written: &w.RedisTLS.CA, kind: "file", shared: true,
			help:   "file with the authorities (PEM) that sign the certificates of Redis; without it, those of this machine",
			accept: text(&c.RedisTLS.CA),
		},
		{
			key: "redis_tls_cert", written: &w.RedisTLS.Cert, kind: "file", shared: true,
			help:   "file with the certificate chain (PEM) that Redis asks its clients for",
			accept: text(&c.RedisTLS.Cert),
		},
		{
			key: "redis_tls_key", written: &w.RedisTLS.Key, kind: "file", shared: true,
			help:   "file with that certificate's private key (PEM)",
			accept: text(&c.RedisTLS.Key),
		},
		{
			key: "redis_tls_server_name", written: &w.RedisTLS.ServerName, kind: "name", shared: true,
			help:   "name in the certificates of Redis; by default the host of each server's address",
			accept: text(&c.RedisTLS.ServerName),
		},
	}
}

// BothOfRedisTLS is the Check of a program that opens a store: certificate and key are
// needed together.
func BothOfRedisTLS(c Config) *fault.InvalidError {
	switch {
	case c.RedisTLS.Cert != "" && c.RedisTLS.Key == "":
		return fault.Wrong("redis_tls_key", "redis_tls_key is required with redis_tls_cert: the file with its private key")
	case c.RedisTLS.Cert == "" && c.RedisTLS.Key != "":
		return fault.Wrong("redis_tls_cert", "redis_tls_cert is required with redis_tls_key: the file with its certificate")
	}
	return nil
}

// Given returns the first of these settings that is set; "" if none is.
func (t RedisTLS) Given() string {
	for _, s := range []struct{ name, value string }{
		{"redis_tls_ca", t.CA}, {"redis_tls_cert", t.Cert}, {"redis_tls_key", t.Key}, {"redis_tls_server_name", t.ServerName},
	} {
		if s.value != "" {
			return s.name
		}
	}
	return ""
}
