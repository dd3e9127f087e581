package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address returns the address for which failed logins are counted: an IPv4 address, or the
// /64 of an IPv6 address, which usually belongs to one household.
func (s *server) address(r *http.Request) string {
	from := ClientOf(r, s.TrustedProxies)
	if !from.Is6() {
		return from.String() // "invalid IP" if the listener does not use IP: one count for all
	}
	return netip.PrefixFrom(from, 64).Masked().String()
}

// ClientOf returns the address of the client, or the zero Addr if there is none. If a trusted proxy
// sent the request, it is the last address in X-Forwarded-For that is not a trusted proxy. A client
// can forge the ones before it.
func ClientOf(r *http.Request, proxies []netip.Prefix) netip.Addr {
	trusted := func(address netip.Addr) bool {
		return address.IsValid() && slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(address) })
	}
	from := parseAddress(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !trusted(from) {
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

// parseAddress reads an address with or without a port, and drops its zone. It returns the zero
// Addr if there is none.
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
