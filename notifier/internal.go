package notifier

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard refuses internal addresses: loopback, private, link-local and all others that are not of
// the public internet.
func guard() *ssrf.Guardian { return ssrf.New(ssrf.WithAnyPort()) }

// RefuseInternal is the Control of a net.Dialer that connects to no internal address. It checks the
// dialed address, after name resolution.
func RefuseInternal(network, address string, conn syscall.RawConn) error {
	return guard().Safe(network, address, conn) //nolint:wrapcheck // package webhook describes it
}

// InternalContact reports whether a contact is a URL that can only have an internal address: its
// host is one, in any form that resolvers accept, or a name reserved for internal use, such as
// localhost. Any other name may still resolve to one; RefuseInternal checks that.
func InternalContact(contact string) bool {
	target, err := url.Parse(contact)
	if err != nil || !IsURL(contact) {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(target.Hostname(), "."))
	for _, reserved := range []string{"localhost", "localdomain", "local", "internal", "home.arpa"} {
		if host == reserved || strings.HasSuffix(host, "."+reserved) {
			return true
		}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		var ok bool
		if address, ok = parseIPv4(host); !ok {
			return false
		}
	}
	return guard().SafeAddr(address.Unmap().WithZone("")) != nil
}

// parseIPv4 reads IPv4 addresses as inet_aton does: one to four numbers, decimal, octal (0177) or
// hexadecimal (0x7f). The last one fills the remaining bytes.
func parseIPv4(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, part := range parts {
		base := 10
		switch {
		case strings.HasPrefix(part, "0x"):
			part, base = strings.TrimPrefix(part, "0x"), 16
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, base, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		all = all<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}
