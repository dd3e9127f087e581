package policy

import (
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// MaxContact is the maximum length of a contact, in bytes.
const MaxContact = 2048

// Bounds of RFC 5321 for an e-mail address and the part before its @.
const (
	maxAddress   = 254
	maxLocalPart = 64
)

// ValidContact checks that alerts can be sent to s: one e-mail address, or an https: URL that
// receives a POST for each. The error is a *fault.InvalidError for the field "contact".
//
// An address has no name, quotes or comment, and is ASCII: write an internationalized domain in its
// xn-- form. A URL has a host, but no user, password or fragment, because contacts are shown.
func ValidContact(s string) error {
	if scheme, _, found := strings.Cut(s, ":"); found && strings.EqualFold(scheme, "https") {
		if !validContactURL(s) {
			return &fault.InvalidError{
				Field: "contact", Value: s,
				Want: "an https: URL with a host, without user, password and fragment, such as https://example.com/alerts",
			}
		}
		return nil
	}
	if !validAddress(s) {
		return &fault.InvalidError{
			Field: "contact", Value: s,
			Want: "one e-mail address such as ops@example.com, or an https: URL such as https://example.com/alerts",
		}
	}
	return nil
}

// RedactContact returns a contact in the form that may be shown: only the host of a URL, since the
// rest may be secret.
func RedactContact(contact string) string {
	if u, err := url.Parse(contact); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return contact
}

func validContactURL(s string) bool {
	if len(s) > MaxContact || !visibleASCII(s) || strings.Contains(s, "#") {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		return err == nil && n > 0
	}
	return true
}

func validAddress(s string) bool {
	if len(s) > maxAddress || !visibleASCII(s) {
		return false
	}
	// The parser accepts more than a bare address, but then its result differs.
	address, err := mail.ParseAddress(s)
	if err != nil || address.Name != "" || address.Address != s {
		return false
	}
	local, domain, _ := strings.Cut(s, "@")
	return len(local) <= maxLocalPart && validDomain(domain)
}

// validDomain also refuses an address in place of a name, such as [192.0.2.1].
func validDomain(domain string) bool {
	for label := range strings.SplitSeq(domain, ".") {
		other := strings.IndexFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
		})
		if label == "" || len(label) > 63 || other >= 0 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// visibleASCII reports whether s has only visible ASCII, no spaces or line breaks.
func visibleASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}
