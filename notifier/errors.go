package notifier

import (
	"fmt"
	"net/url"
	"strings"
)

// InvalidError is returned for a setting or a field of a message that a channel does not accept.
type InvalidError struct {
	Field string // its name: "push_url"
	Value string // its value, without secrets
	Want  string // what is allowed; it follows "use"
}

// Error names the field, the value and what is allowed.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s %q is not allowed: use %s", e.Field, e.Value, e.Want)
}

// RedactURL returns the scheme and host of a channel's target. Providers put secrets into user,
// password, path and query. For a service, such as slack://, only the scheme is shown, since its
// host may be a token. A target that is not a URL with a host is cut at the first character that a
// host name can't have. It is hidden completely if it seems to contain a user and a password.
func RedactURL(target string) string {
	const hidden = "…"
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		if !namesHost(u.Scheme) {
			return u.Scheme + "://" + hidden
		}
		shown := url.URL{Scheme: u.Scheme, Host: u.Host}
		if u.User == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" {
			return shown.String()
		}
		return shown.String() + "/" + hidden
	}
	if strings.EqualFold(target, "log:") {
		return "log:"
	}
	if strings.Contains(target, "@") {
		return hidden
	}
	end := strings.IndexFunc(target, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-'
	})
	if end < 0 {
		end = len(target)
	}
	// A host name has at most 253 characters.
	if end = min(end, 253); end == len(target) {
		return target
	}
	return target[:end] + hidden
}

// namesHost reports whether the host of URLs with a scheme is a server's name.
func namesHost(scheme string) bool {
	switch scheme {
	case "http", "https", "smtp", "smtps", "socks5", "socks5h":
		return true
	default:
		return false
	}
}
