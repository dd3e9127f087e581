package store

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// AddressOf returns the address that the URL of a store configures:
//
//	redis.example.com:6379/0            a server and its database
//	/run/redis.sock/0                   a socket and its database
//	a:26379/mymaster/0 b:26379/…        Sentinels, each with the master's name and its database
//	a:6379 b:6379                       nodes of a cluster
//
// It is the same with and without TLS. The error is a *fault.InvalidError.
func AddressOf(configured string) (store.Address, error) {
	to, problem := parseURL(configured)
	if problem != nil {
		return nil, problem
	}
	var parts store.Address
	switch {
	case to.sentinel != nil:
		for _, sentinel := range to.sentinel.SentinelAddrs {
			parts = append(parts, normal(sentinel)+"/"+escaped(to.sentinel.MasterName)+"/"+strconv.Itoa(to.sentinel.DB))
		}
	case to.cluster != nil:
		for _, node := range to.cluster.Addrs {
			parts = append(parts, normal(node))
		}
	case to.single.Network == "unix":
		parts = store.Address{escaped(to.single.Addr) + "/" + strconv.Itoa(to.single.DB)}
	default:
		parts = store.Address{normal(to.single.Addr) + "/" + strconv.Itoa(to.single.DB)}
	}
	slices.Sort(parts)
	return slices.Compact(parts), nil
}

// normal writes a host and its port in one way for all spellings: names in lower case without the
// final dot, IP addresses in their short form, and one name for this machine.
func normal(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if host == "127.0.0.1" || host == "::1" {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// escaped writes a path or a name without spaces.
func escaped(text string) string { return (&url.URL{Path: text}).EscapedPath() }
