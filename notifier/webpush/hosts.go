package webpush

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

// host is an allowed host.
type host struct {
	name string // "*" or "*." in front is for all hosts below
	// paths are the beginnings of allowed paths; nil for every path. "/" is any path of one
	// segment.
	paths []string
}

type hosts []host

// browsers returns the push services of Chrome and its relatives, Firefox, Edge and Safari, with
// the paths that they give to browsers. Other paths of these hosts are APIs that refuse our
// credentials.
func browsers() hosts {
	return hosts{
		{"fcm.googleapis.com", []string{"/fcm/send/", "/wp/", "/preprod/wp/"}}, // the last one is Chromium's
		{"*.push.services.mozilla.com", []string{"/wpush/"}},
		{"*.notify.windows.com", []string{"/w/"}}, // with the token in the query
		{"*.push.apple.com", []string{"/"}},
	}
}

// hostsOf returns the hosts of a Config.Hosts.
func hostsOf(configured []string) hosts {
	if len(configured) == 0 {
		return browsers()
	}
	var all hosts
	for _, name := range configured {
		all = append(all, host{name: strings.ToLower(name)})
	}
	return all
}

// check returns a *notifier.InvalidError unless an address is an allowed subscription.
func (all hosts) check(address string) error {
	s, err := ParseSubscription(address)
	if err != nil || all.allow(s.endpoint) {
		return err
	}
	return &notifier.InvalidError{
		Field: "address", Value: s.host(), Want: "an endpoint of a push service that is pushed to, as browsers get it",
	}
}

// allow reports whether an endpoint is allowed.
func (all hosts) allow(endpoint *url.URL) bool {
	name := hostOf(endpoint)
	return slices.ContainsFunc(all, func(h host) bool {
		below, several := strings.CutPrefix(h.name, "*")
		return (h.name == name || several && strings.HasSuffix(name, below)) && (h.paths == nil || h.serves(endpoint))
	})
}

// serves reports whether h gives the path of an endpoint to browsers. It refuses a path that a
// server could read differently.
func (h host) serves(endpoint *url.URL) bool {
	p := endpoint.Path
	if port := endpoint.Port(); port != "" && port != "443" || path.Clean(p) != strings.TrimSuffix(p, "/") || strings.Contains(p, `\`) {
		return false
	}
	return slices.ContainsFunc(h.paths, func(beginning string) bool {
		if beginning == "/" {
			return len(p) > 1 && strings.Count(p, "/") == 1
		}
		return strings.HasPrefix(p, beginning)
	})
}
