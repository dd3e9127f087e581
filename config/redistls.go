package config

// RedisTLS has the TLS settings of the store. It needs a RedisURL that uses TLS. The zero value
// trusts the machine's authorities, and sends no certificate.
type RedisTLS struct {
	// CA is a file of the authorities that sign the servers' certificates; empty means the
	// machine's.
	CA string
	// Cert and Key are the files of the client certificate; both are empty for none.
	Cert, Key string
	// ServerName is the name in the servers' certificates; empty means the host of each server's
	// address.
	ServerName string
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
