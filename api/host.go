package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// checkHost refuses a request with a DNS name as Host, if no key is required. Another site can
// point its own name to this server; a browser then treats this server as part of that site. Only
// the name shows this.
func checkHost(host string) error {
	if LocalHost(host) {
		return nil
	}
	return &web.Error{Status: http.StatusForbidden, Outcome: message.Outcome{
		Outcome: message.Errored, Code: web.CodeCrossOrigin,
		Detail: web.Printable(host) + " can be another site's name: use the IP address of this server or localhost," +
			" or set require_keys: true",
	}}
}

// checkDirect refuses a request without a key that came through a proxy. Anybody may have sent it,
// although the proxy runs on this machine.
func checkDirect(h http.Header) error {
	proof := Proxied(h)
	if proof == "" {
		return nil
	}
	return &web.Error{
		Status: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {challenge}},
		Outcome: message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnauthorized,
			Detail: "this request came through a proxy (" + proof + "), which others can use too: send a key, and set require_keys: true",
		},
	}
}

// Proxied returns the name of a header that only a proxy adds, "" if a request has none.
func Proxied(h http.Header) string {
	for name := range h {
		if slices.Contains([]string{"Forwarded", "Via", "X-Real-Ip"}, name) || strings.HasPrefix(name, "X-Forwarded-") {
			return name
		}
	}
	return ""
}

// LocalHost reports whether a Host header is an IP address or a name of this machine or its
// network: localhost or a name without a dot. An empty one is from HTTP/1.0, which no
// browser uses.
func LocalHost(host string) bool {
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	_, err := netip.ParseAddr(name)
	// "localhost." is the same name, written in full. Other names that end in a dot are of the DNS.
	local := strings.HasSuffix("."+strings.TrimSuffix(name, "."), ".localhost")
	return err == nil || local || !strings.Contains(name, ".")
}
