package webhook

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	maxHeaders      = 32
	maxHeaderLength = 4096 // of a name and its value, in bytes
)

// ParseHeaders reads headers from a setting, one a line, such as "X-Tenant: shop". Empty lines are
// ignored. The error is a *notifier.InvalidError, and shows no value.
func ParseHeaders(text string) (http.Header, error) {
	headers := make(http.Header)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return nil, invalidHeader("(not shown)", "a line for each header, such as X-Tenant: shop")
		}
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		headers[name] = append(headers[name], strings.TrimSpace(value))
	}
	if err := validHeaders(headers, false); err != nil {
		return nil, err
	}
	return headers, nil
}

// validHeaders returns the problem of headers. authorized reports whether the URL has a user, which
// becomes the Authorization.
func validHeaders(headers http.Header, authorized bool) error {
	count := 0
	for name, values := range headers {
		count += len(values)
		switch {
		case name == "" || strings.IndexFunc(name, notToken) >= 0 || len(name) > 256:
			return invalidHeader("(not shown)", "names of letters, digits and -, such as X-Tenant")
		case slices.Contains(reservedHeaders(), name) || strings.HasPrefix(name, "Webhook-"):
			return invalidHeader(name, "other headers than those that are sent anyway, or that belong to the connection")
		case name == "Authorization" && authorized:
			return invalidHeader(name, "no Authorization beside a URL with a user")
		}
		for _, value := range values {
			if !visible(value) || len(name)+len(value) > maxHeaderLength {
				return invalidHeader(name, "visible ASCII characters and spaces, at most 4,096 for a header")
			}
		}
	}
	if count > maxHeaders {
		return invalidHeader("(not shown)", "at most 32 headers")
	}
	return nil
}

// reservedHeaders returns the headers that an operator can't set.
func reservedHeaders() []string {
	return []string{
		"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Expect", "Host", "Idempotency-Key", "Keep-Alive",
		"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	}
}

func notToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func invalidHeader(name, want string) error {
	return &notifier.InvalidError{Field: "push_headers", Value: name, Want: want}
}
