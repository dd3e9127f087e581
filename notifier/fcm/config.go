package fcm

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// DefaultTimeout is the default of Config.Timeout. FCM asks for 10 seconds or more.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout is the maximum of Config.Timeout.
	MaxTimeout = 5 * time.Minute
	// DefaultEndpoint is the default of Config.Endpoint.
	DefaultEndpoint = "https://fcm.googleapis.com"
	// maxCredentials bounds the credentials, in bytes. Real ones have less than 3,000.
	maxCredentials = 64 << 10
)

// Config configures a Notifier. Credentials and Now are required.
type Config struct {
	// Credentials is the JSON of a service account's key from the Firebase console. It is a secret.
	// It names the project and the token endpoint.
	Credentials []byte
	// Endpoint is the scheme and host of FCM, for tests and emulators; "" means DefaultEndpoint. It
	// is https:, or http: on loopback.
	Endpoint string
	// Timeout bounds one request, from dialing to the answer's headers; zero means DefaultTimeout.
	Timeout time.Duration
	// UserAgent names the sender; empty means "sendlimit".
	UserAgent string
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the time.
	Now func() time.Time
}

type account struct {
	project  string
	email    string
	keyID    string
	key      *rsa.PrivateKey
	tokenURL string
}

// identity returns a text that changes with the account's project, address or key.
func (a account) identity() string {
	sum := sha256.Sum256([]byte(a.email + "\x00" + a.keyID))
	return a.project + "/" + hex.EncodeToString(sum[:8])
}

// validate returns the account, or all problems, joined.
func (c Config) validate() (account, error) {
	a, problems := readAccount(c.Credentials)
	if c.Endpoint != "" && !isEndpoint(c.Endpoint) {
		problems = append(problems, &notifier.InvalidError{
			Field: "endpoint", Value: notifier.RedactURL(c.Endpoint), Want: "the scheme and host of an https: URL, or of an http: URL at a loopback address",
		})
	}
	problems = append(problems, exchange.CheckTimeout("timeout", c.Timeout, MaxTimeout))
	if c.Now == nil {
		problems = append(problems, errors.New("fcm needs a clock"))
	}
	return a, errors.Join(problems...)
}

func readAccount(credentials []byte) (account, []error) {
	var written struct {
		Type     string `json:"type"`
		Project  string `json:"project_id"`
		KeyID    string `json:"private_key_id"`
		Key      string `json:"private_key"`
		Email    string `json:"client_email"`
		TokenURI string `json:"token_uri"`
	}
	var problems []error
	wrong := func(field, want string) {
		problems = append(problems, &notifier.InvalidError{Field: field, Value: "(not shown)", Want: want})
	}
	if len(credentials) > maxCredentials || json.Unmarshal(credentials, &written) != nil {
		wrong("credentials", "the JSON of a service account's key, of at most 65,536 bytes")
		return account{}, problems
	}
	if written.Type != "service_account" {
		wrong("credentials.type", "service_account")
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]{0,99}$`).MatchString(written.Project) {
		wrong("credentials.project_id", "the id of a project, such as my-project-1234")
	}
	if written.Email == "" {
		wrong("credentials.client_email", "the address of the service account")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(written.Key))
	if err != nil {
		wrong("credentials.private_key", "an RSA key in PEM")
	}
	if !isSafeURL(written.TokenURI) {
		wrong("credentials.token_uri", "an https: URL, or an http: URL at a loopback address")
	}
	return account{project: written.Project, email: written.Email, keyID: written.KeyID, key: key, tokenURL: written.TokenURI}, problems
}

// isSafeURL reports whether a secret may be sent to a URL: over TLS, or on loopback.
func isSafeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	switch u.Scheme {
	case "https":
		return true
	case "http":
		ip, err := netip.ParseAddr(u.Hostname())
		return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	default:
		return false
	}
}

func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isSafeURL(text) && (u.Path == "" || u.Path == "/") && u.RawQuery == ""
}
