package config

import (
	"net/netip"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// writtenAccess has the settings about access to the API, as written.
type writtenAccess struct {
	RequireKeys    string `env:"REQUIRE_KEYS"`
	TLSCert        string `env:"TLS_CERT"`
	TLSKey         string `env:"TLS_KEY"`
	TrustedProxies string `env:"TRUSTED_PROXIES"`

	Streams           string `env:"STREAMS"`
	StreamsPerAccount string `env:"STREAMS_PER_ACCOUNT"`
	StreamIdle        string `env:"STREAM_IDLE"`

	Requests               string `env:"REQUESTS"`
	RequestsPerAccount     string `env:"REQUESTS_PER_ACCOUNT"`
	ReadsPerAccount        string `env:"READS_PER_ACCOUNT"`
	EventStreams           string `env:"EVENT_STREAMS"`
	EventStreamsPerAccount string `env:"EVENT_STREAMS_PER_ACCOUNT"`
}

// accessSettings returns the rows of the table about access to the API.
func accessSettings(w *written, c *Config) []*setting {
	return append([]*setting{
		{
			key: "require_keys", written: &w.Access.RequireKeys, standard: "false", kind: "bool",
			help:   "require an API key on a loopback address too; on other addresses one is always required",
			accept: boolean(&c.RequireKeys),
		},
		{
			key: "tls_cert", written: &w.Access.TLSCert, kind: "file",
			help:   "file with the certificate chain (PEM) for TLS; without it, the API is plain HTTP",
			accept: text(&c.TLSCert),
		},
		{
			key: "tls_key", written: &w.Access.TLSKey, kind: "file",
			help:   "file with the certificate's private key (PEM)",
			accept: text(&c.TLSKey),
		},
		{
			key: "trusted_proxies", written: &w.Access.TrustedProxies, kind: "networks", list: true,
			help:   "networks of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8",
			accept: networks(&c.TrustedProxies),
		},
		{
			key: "streams", written: &w.Access.Streams, standard: "32", kind: "number",
			help:   "batches, refits, exports, work on campaigns and other long requests to the API that may run at a time",
			accept: number(&c.Streams, 1, 1000),
		},
		{
			key: "streams_per_account", written: &w.Access.StreamsPerAccount, kind: "number",
			help:   "of these, how many an account may have, or all requests without a key; by default a quarter",
			accept: number(&c.StreamsPerAccount, 1, 1000),
		},
		{
			key: "stream_idle", written: &w.Access.StreamIdle, standard: "30s", kind: "duration",
			help:   "how long a batch may take to send its next line",
			accept: duration(&c.StreamIdle, time.Second, time.Hour),
		},
	}, placeSettings(w, c)...)
}

// placeSettings returns the rows of the table about how many requests are answered at a
// time, besides streams.
func placeSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "requests", written: &w.Access.Requests, standard: "256", kind: "number",
			help:   "requests to the API that are answered at a time, besides streams",
			accept: number(&c.Requests, 1, mostRequests),
		},
		{
			key: "requests_per_account", written: &w.Access.RequestsPerAccount, kind: "number",
			help:   "of these, how many an account may have; by default half",
			accept: number(&c.RequestsPerAccount, 1, mostRequests),
		},
		{
			key: "reads_per_account", written: &w.Access.ReadsPerAccount, kind: "number",
			help:   "of these, how many may read (GET); by default half",
			accept: number(&c.ReadsPerAccount, 1, mostRequests),
		},
		{
			key: "event_streams", written: &w.Access.EventStreams, standard: "512", kind: "number",
			help:   "streams of events that may be followed at a time",
			accept: number(&c.EventStreams, 1, mostRequests),
		},
		{
			key: "event_streams_per_account", written: &w.Access.EventStreamsPerAccount, kind: "number",
			help:   "of these, how many an account may follow, or all requests without a key; by default 16, but at most half",
			accept: number(&c.EventStreamsPerAccount, 1, mostRequests),
		},
	}
}

// mostRequests bounds the settings about requests.
const mostRequests = 100_000

// networks accepts addresses and networks, separated by commas.
func networks(into *[]netip.Prefix) func(string) *fault.InvalidError {
	return func(s string) *fault.InvalidError {
		if s == emptyList {
			return nil
		}
		for word := range strings.SplitSeq(s, ",") {
			word = strings.TrimSpace(word)
			network, err := netip.ParsePrefix(word)
			if address, one := netip.ParseAddr(word); one == nil && address.Zone() == "" {
				network, err = netip.PrefixFrom(address, address.BitLen()), nil
			}
			if err != nil {
				problem := takes("networks and addresses such as 10.0.0.0/8, 192.0.2.7")
				problem.Value = word
				return problem
			}
			*into = append(*into, network.Masked())
		}
		return nil
	}
}

// Exposed reports whether other machines may reach the address of the API.
func (c Config) Exposed() bool { return exposed(c.Listen) }

// AdminExposed is Exposed for the address of the probes and the metrics.
func (c Config) AdminExposed() bool { return exposed(c.AdminListen) }

func exposed(address string) bool {
	host, valid := splitAddress(address)
	return valid && !loopback(host)
}

// BothOfTLS is the Check of a program that serves the API: certificate and key are needed
// together.
func BothOfTLS(c Config) *fault.InvalidError {
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		return fault.Wrong("tls_key", "tls_key is required with tls_cert: the file with its private key")
	case c.TLSCert == "" && c.TLSKey != "":
		return fault.Wrong("tls_cert", "tls_cert is required with tls_key: the file with its certificate")
	}
	return nil
}

// SharesOfAccounts is the Check of a program that serves the API: an account can't have more
// than there is.
func SharesOfAccounts(c Config) *fault.InvalidError {
	for _, s := range []struct {
		key   string
		share int
		of    string
		all   int
	}{
		{"streams_per_account", c.StreamsPerAccount, "streams", c.Streams},
		{"requests_per_account", c.RequestsPerAccount, "requests", c.Requests},
		{"reads_per_account", c.ReadsPerAccount, "requests", c.Requests},
		{"event_streams_per_account", c.EventStreamsPerAccount, "event_streams", c.EventStreams},
	} {
		if s.share > s.all && s.all > 0 {
			return fault.Wrong(s.key, "%s, %d, is more than %s, %d", s.key, s.share, s.of, s.all)
		}
	}
	return nil
}
