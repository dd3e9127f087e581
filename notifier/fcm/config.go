package fcm

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// DefaultTimeout is the default of Config.Timeout. Google asks for 10 seconds or more.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout is the longest Config.Timeout.
	MaxTimeout = 5 * time.Minute
	// DefaultEndpoint is the default of Config.Endpoint.
	DefaultEndpoint = "https://fcm.googleapis.com"

	defaultTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, no secret
)

// Config configures a Notifier. Credentials and Now are required.
type Config struct {
	// Credentials is the JSON of a service account, as the Firebase console makes it. It is a
	// secret.
	Credentials []byte
	// Endpoint is the scheme and host of the server; "" means DefaultEndpoint. It is https,
	// but on loopback it may be http.
	Endpoint string
	// Timeout bounds one request, from dialing to the answer's headers; zero means
	// DefaultTimeout.
	Timeout time.Duration
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the time.
	Now func() time.Time
}

// account is what Config.Credentials says.
type account struct {
	project  string
	email    string
	keyID    string
	key      *rsa.PrivateKey
	tokenURL string
}

// validate returns the account of c and its endpoint, or everything that is wrong, joined.
func (c Config) validate() (account, string, error) {
	var problems []error
	wrong := func(field, value, want string) {
		problems = append(problems, &notifier.InvalidError{Field: field, Value: value, Want: want})
	}
	a, ok := parseAccount(c.Credentials)
	if !ok {
		wrong("credentials", "(not shown)",
			"the JSON of a service account with type, project_id, client_email, private_key_id and an RSA private_key")
	} else if !secure(a.tokenURL, true) {
		wrong("credentials", "(not shown)", "a token_uri that is an https: URL")
	}
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	if !secure(endpoint, false) {
		wrong("endpoint", notifier.RedactURL(endpoint), "an https URL of a host, such as "+DefaultEndpoint)
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		wrong("timeout", c.Timeout.String(), "a time above zero and up to "+MaxTimeout.String())
	}
	if c.Now == nil {
		problems = append(problems, errors.New("fcm needs a clock"))
	}
	return a, strings.TrimSuffix(endpoint, "/"), errors.Join(problems...)
}

// parseAccount reads the JSON of a service account.
func parseAccount(text []byte) (account, bool) {
	var written struct {
		Type         string `json:"type"`
		ProjectID    string `json:"project_id"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
		ClientEmail  string `json:"client_email"`
		TokenURI     string `json:"token_uri"`
	}
	if json.Unmarshal(bytes.TrimSpace(text), &written) != nil || written.Type != "service_account" {
		return account{}, false
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(written.PrivateKey))
	if err != nil || written.ClientEmail == "" || !validProject(written.ProjectID) {
		return account{}, false
	}
	a := account{
		project: written.ProjectID, email: written.ClientEmail, keyID: written.PrivateKeyID, key: key, tokenURL: written.TokenURI,
	}
	if a.tokenURL == "" {
		a.tokenURL = defaultTokenURL
	}
	return a, true
}

// validProject reports whether a name can be a project's: it becomes part of a path.
func validProject(name string) bool {
	return name != "" && len(name) <= 128 && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != ':' && r != '_'
	}) < 0
}

// secure reports whether a URL is https, or on loopback. withPath allows it to have a path.
func secure(text string, withPath bool) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		!withPath && strings.Trim(u.Path, "/") != "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
