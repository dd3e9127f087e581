package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// checkHost refuses a request that has no key, and asks for this server by a name
// of the DNS. A page of another site can have its own name lead here, and is then
// no other site to a browser: all that gives it away is the name.
func checkHost(host string) error {
	if localHost(host) {
		return nil
	}
	return &web.Error{Status: http.StatusForbidden, Outcome: message.Outcome{
		Outcome: message.Errored, Code: web.CodeCrossOrigin,
		Detail: web.Printable(host) + " can be the name of another site's page: without a key, ask for this server by its IP address or as localhost",
	}}
}

// localHost reports whether a Host header has an address, or a name that is of
// this machine or its network: one without a dot. HTTP/1.0 has none at all, and
// browsers always have one.
func localHost(host string) bool {
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	_, err := netip.ParseAddr(name)
	return err == nil || strings.HasSuffix(name, ".localhost") || !strings.Contains(name, ".")
}
