package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address is whom failed logins of a request are counted against: an IPv4
// address, or the /64 of an IPv6 address, which is one household's.
func (s *server) address(r *http.Request) string {
	from := s.client(r)
	if !from.Is6() {
		return from.String() // "invalid IP" of a listener that is none of IP: all of them together
	}
	return netip.PrefixFrom(from, 64).Masked().String()
}

// client is the address a request comes from. Where that is a trusted proxy, it
// is the last one in X-Forwarded-For that is not: what stands before that,
// anybody can have written.
func (s *server) client(r *http.Request) netip.Addr {
	from := parseAddress(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !s.trusted(from) {
			break
		}
		before := parseAddress(strings.TrimSpace(hop))
		if !before.IsValid() {
			break
		}
		from = before
	}
	return from
}

func (s *server) trusted(address netip.Addr) bool {
	return address.IsValid() && slices.ContainsFunc(s.trustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseAddress reads an address with or without a port, without its zone. The
// zero Addr is none.
func parseAddress(text string) netip.Addr {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}
