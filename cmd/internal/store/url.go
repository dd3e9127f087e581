package store

import (
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Schemes of URLs that the client library does not know, without and with TLS.
const (
	sentinelScheme    = "redis-sentinel://"
	sentinelTLSScheme = "rediss-sentinel://"
	clusterScheme     = "redis-cluster://"
	clusterTLSScheme  = "rediss-cluster://"
)

// ValidURL is the config.Check of a program that opens a store. A program without a URL needs none.
func ValidURL(c config.Config) error {
	var to target
	if c.RedisURL != "" {
		var problem *fault.InvalidError
		if to, problem = parseURL(c.RedisURL); problem != nil {
			return problem
		}
	}
	if given := c.RedisTLS.Given(); given != "" && to.tls == nil {
		return fault.Wrong(given, "%s is set, and redis_url does not use TLS: begin it with rediss://, %s or %s, or remove %s",
			given, sentinelTLSScheme, clusterTLSScheme, given)
	}
	return config.BothOfRedisTLS(c)
}

// target has the options of a URL: one of the first three.
type target struct {
	single   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions

	tls *tls.Config // nil without TLS
}

// parseURL reads the URL of a store. It never passes on the parsers' errors: they repeat parts
// of the URL, and any part may be the password.
func parseURL(s string) (target, *fault.InvalidError) {
	scheme, _, _ := strings.Cut(s, "://")
	scheme += "://"
	reject := func(want string) (target, *fault.InvalidError) {
		return target{}, &fault.InvalidError{Field: "redis_url", Value: config.RedactRedisURL(s), Want: want}
	}
	const encoded = " (in a password, write @ / : ? # and % as %40 %2F %3A %3F %23 and %25)"
	switch scheme {
	case "redis://", "rediss://":
		options, err := redis.ParseURL(s)
		if err != nil || host(s) == "" || !validAddress(options.Addr) {
			return reject("a URL such as " + scheme + "USER:PASSWORD@HOST:PORT/DB" + encoded)
		}
		return target{single: options, tls: options.TLSConfig}, nil
	case "unix://":
		options, err := redis.ParseURL(s)
		if err != nil || host(s) != "" { // unix://run/redis.sock has the host "run"
			return reject("a URL such as unix://USER:PASSWORD@/path/to/redis.sock?db=0" + encoded)
		}
		return target{single: options}, nil
	case sentinelScheme, sentinelTLSScheme:
		options, ok := parseSentinel(s, scheme)
		if !ok {
			return reject("a URL such as " + scheme + "USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER-NAME?db=0," +
				" with sentinel_username and sentinel_password where the Sentinels have their own" + encoded)
		}
		return target{sentinel: options, tls: options.TLSConfig}, nil
	case clusterScheme, clusterTLSScheme:
		options, ok := parseCluster(s, scheme)
		if !ok {
			return reject("a URL such as " + scheme + "USER:PASSWORD@HOST:PORT,HOST:PORT" + encoded)
		}
		return target{cluster: options, tls: options.TLSConfig}, nil
	}
	return reject("a URL that begins with redis://, unix://, redis-sentinel:// or redis-cluster://," +
		" with TLS rediss://, rediss-sentinel:// or rediss-cluster://")
}

// encrypted returns the TLS settings of a scheme; nil without TLS.
func encrypted(scheme string) *tls.Config {
	if scheme != sentinelTLSScheme && scheme != clusterTLSScheme {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// host returns the host of a URL, "" if it has none. The client library would use a default.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func parseSentinel(s, scheme string) (*redis.FailoverOptions, bool) {
	many, ok := parseMany(s, scheme, "26379")
	master := strings.TrimPrefix(many.path, "/")
	if !ok || master == "" || strings.Contains(master, "/") {
		return nil, false
	}
	options := &redis.FailoverOptions{
		MasterName:       master,
		SentinelAddrs:    many.addresses,
		SentinelUsername: many.query.Get("sentinel_username"),
		SentinelPassword: many.query.Get("sentinel_password"),
		Username:         many.user,
		Password:         many.password,
		TLSConfig:        encrypted(scheme),
	}
	if db := many.query.Get("db"); db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return nil, false
		}
		options.DB = int(n)
	}
	for name := range many.query {
		if name != "db" && name != "sentinel_username" && name != "sentinel_password" {
			return nil, false
		}
	}
	return options, true
}

func parseCluster(s, scheme string) (*redis.ClusterOptions, bool) {
	many, ok := parseMany(s, scheme, "6379")
	if !ok || many.path != "" && many.path != "/" || len(many.query) > 0 {
		return nil, false
	}
	return &redis.ClusterOptions{
		Addrs: many.addresses, Username: many.user, Password: many.password, TLSConfig: encrypted(scheme),
	}, true
}

// manyHosts is a URL with several hosts, which net/url can't parse.
type manyHosts struct {
	user, password string
	addresses      []string
	path           string
	query          url.Values
}

func parseMany(s, scheme, port string) (manyHosts, bool) {
	rest := strings.TrimPrefix(s, scheme)
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	credentials, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		credentials, hosts = authority[:at+1], authority[at+1:]
	}
	// Parse the URL with one host in place of all.
	u, err := url.Parse("redis://" + credentials + "host" + rest)
	if err != nil || u.Fragment != "" {
		return manyHosts{}, false
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return manyHosts{}, false
	}
	many := manyHosts{path: u.Path, query: query}
	if u.User != nil {
		many.user = u.User.Username()
		many.password, _ = u.User.Password()
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, ok := withPort(host, port)
		if !ok {
			return manyHosts{}, false
		}
		many.addresses = append(many.addresses, address)
	}
	return many, true
}

// withPort adds the port to a host that has none.
func withPort(host, port string) (string, bool) {
	u, err := url.Parse("redis://" + host)
	if err != nil || u.Host != host || u.Hostname() == "" {
		return "", false
	}
	if u.Port() != "" {
		port = u.Port()
	}
	address := net.JoinHostPort(u.Hostname(), port)
	return address, validAddress(address)
}

func validAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.ContainsAny(host, ", ") {
		return false
	}
	if _, err := netip.ParseAddr(host); strings.Contains(host, ":") && err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
