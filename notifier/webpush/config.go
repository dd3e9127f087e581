package webpush

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 15 * time.Second

// MaxTimeout is the maximum of Config.Timeout.
const MaxTimeout = 5 * time.Minute

// Config configures a Notifier. PrivateKey, Subject and Now are required.
type Config struct {
	// PrivateKey is the private VAPID key, as GenerateKeys returns it: 32 bytes in base64url.
	PrivateKey string
	// Subject is the contact for push services: a mailto: or https: URL, or an e-mail address.
	Subject string
	// Hosts are the allowed hosts: names, or *. and a name for all hosts below it, or "*" for every
	// host. Empty means the push services of browsers, with only the paths that they give to
	// browsers.
	Hosts []string
	// AllowInternal allows hosts at internal addresses. Browsers name the endpoints, and could
	// reach internal servers that way.
	AllowInternal bool
	// Timeout bounds one attempt, from dialing to the answer's headers; zero means DefaultTimeout.
	Timeout time.Duration
	// UserAgent names the sender; empty means "sendlimit".
	UserAgent string
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the time.
	Now func() time.Time
}

// validate returns the key and the subject, or all problems, joined.
func (c Config) validate() (*ecdsa.PrivateKey, string, error) {
	var problems []error
	wrong := func(field, value, want string) {
		problems = append(problems, &notifier.InvalidError{Field: field, Value: value, Want: want})
	}
	key, err := parsePrivate(c.PrivateKey)
	if err != nil {
		wrong("private_key", "(not shown)", "a VAPID key: 32 bytes in base64url")
	}
	subject, ok := validSubject(c.Subject)
	if !ok {
		wrong("subject", c.Subject, "an e-mail address, or a mailto: or https: URL")
	}
	for _, host := range c.Hosts {
		if !validHost(host) {
			wrong("hosts", host, `host names such as push.example.com or *.push.example.com, or "*" alone`)
		}
	}
	problems = append(problems, exchange.CheckTimeout("timeout", c.Timeout, MaxTimeout))
	if c.Now == nil {
		problems = append(problems, errors.New("web push needs a clock"))
	}
	return key, subject, errors.Join(problems...)
}

// validSubject returns the subject of a VAPID token. Some push services refuse an address with a
// name or spaces.
func validSubject(text string) (string, bool) {
	if u, err := url.Parse(text); err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil {
		return text, true
	}
	address := strings.TrimPrefix(text, "mailto:")
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || strings.ContainsAny(address, " \"") {
		return "", false
	}
	return "mailto:" + address, true
}

func validHost(host string) bool {
	if host == "*" {
		return true
	}
	name := strings.TrimPrefix(host, "*.")
	return name != "" && len(name) <= 253 && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != ':'
	}) < 0
}
