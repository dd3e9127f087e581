package email

import (
	"crypto/x509"
	"errors"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Values of Options.TLS.
const (
	TLSMandatory     = "mandatory"     // STARTTLS, or nothing is sent
	TLSOpportunistic = "opportunistic" // STARTTLS if the server offers it
	TLSNone          = "none"          // plain text
)

// Options configures an Announcer. URL, From and Now are required.
type Options struct {
	// URL is the mail server: smtp://host:587 or smtps://host:465, with user:password@ for a login.
	// These ports are the defaults.
	URL string
	// Password is the password of the URL's user, if the URL has none.
	Password string
	// From is the sender: an address, with or without a name.
	From string
	// Templates is a folder of templates that replace embedded ones, see LoadTemplates; "" means
	// none.
	Templates string
	// TLS is the security of an smtp:// connection; "" means TLSMandatory, or TLSNone on loopback.
	TLS string
	// RootCAs are the authorities for the server's certificate; nil means the system's.
	RootCAs *x509.CertPool
	// Timeouts bound the steps of a session.
	Timeouts Timeouts
	// Now returns the time of a message.
	Now func() time.Time
}

// server is a mail server and its settings.
type server struct {
	host, port string
	implicit   bool // TLS from the first byte
	tls        string
	user       string
	password   string
}

func (s server) address() string { return net.JoinHostPort(s.host, s.port) }

// validate returns the server and the sender, or all problems, joined.
func (o Options) validate() (server, *mail.Address, error) {
	to, err := o.server()
	from, problem := parseFrom(o.From)
	err = errors.Join(err, problem)
	if o.Now == nil {
		err = errors.Join(err, errors.New("e-mail needs a clock"))
	}
	return to, from, err
}

func (o Options) server() (server, error) {
	s, ok := parseURL(o.URL)
	if !ok {
		return server{}, invalid("email_url", notifier.RedactURL(o.URL), "a URL such as smtp://USER:PASSWORD@mail.example.com:587 or smtps://mail.example.com:465"+
			" (in a password, write @ / : ? # and % as %40 %2F %3A %3F %23 and %25)")
	}
	var problems []error
	if o.Password != "" {
		if s.user == "" || s.password != "" {
			problems = append(problems, invalid("smtp_password", "(not shown)", "an email_url with a user and without a password"))
		}
		s.password = o.Password
	} else if s.user != "" && s.password == "" {
		problems = append(problems, invalid("smtp_password", "", "the password of the user in email_url"))
	}
	switch {
	case o.TLS == "" && (s.implicit || !loopback(s.host)):
		s.tls = TLSMandatory
	case o.TLS == "":
		s.tls = TLSNone
	case o.TLS == TLSMandatory, !s.implicit && (o.TLS == TLSOpportunistic || o.TLS == TLSNone):
		s.tls = o.TLS
	case s.implicit:
		problems = append(problems, invalid("email_tls", o.TLS, "mandatory with an smtps URL, or smtp:// in its place"))
	default:
		problems = append(problems, invalid("email_tls", o.TLS, "mandatory, opportunistic or none"))
	}
	return s, errors.Join(problems...)
}

func invalid(field, value, want string) error {
	return &notifier.InvalidError{Field: field, Value: value, Want: want}
}

func parseURL(raw string) (server, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || strings.ContainsAny(raw, "?#") {
		return server{}, false
	}
	s := server{host: u.Hostname(), port: u.Port(), implicit: u.Scheme == "smtps"}
	if u.Scheme != "smtp" && !s.implicit {
		return server{}, false
	}
	switch n, err := strconv.ParseUint(s.port, 10, 16); {
	case s.port == "" && strings.HasSuffix(u.Host, ":"), s.port != "" && (err != nil || n == 0):
		return server{}, false
	case s.port == "" && s.implicit:
		s.port = "465"
	case s.port == "":
		s.port = "587"
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
		if s.user == "" {
			return server{}, false
		}
	}
	return s, true
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func parseFrom(from string) (*mail.Address, error) {
	address, err := mail.ParseAddress(from)
	if err != nil || !bare(address.Address) || oneLine(address.Name) != address.Name {
		return nil, invalid("email_from", from, `an e-mail address such as alerts@example.com or "Alerts <alerts@example.com>"`)
	}
	return address, nil
}

// bare reports whether an address can be used in a command and a header: visible ASCII without
// quotes or a name.
func bare(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Name == "" && parsed.Address == address && !strings.ContainsAny(address, `"<>[]`) &&
		strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}
