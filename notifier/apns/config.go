package apns

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// DefaultTimeout is the default of Config.Timeout, and MaxTimeout the longest.
	DefaultTimeout = 15 * time.Second
	MaxTimeout     = 5 * time.Minute
	// DefaultConnections is the default of Config.Connections, and MaxConnections the most.
	DefaultConnections = 4
	MaxConnections     = 64

	// Production and Sandbox are Apple's endpoints.
	Production = "https://api.push.apple.com"
	Sandbox    = "https://api.sandbox.push.apple.com"
)

// Config configures a Notifier. Key, KeyID, TeamID, Now, and Topic or Topics are required.
type Config struct {
	// Key is the private key that Apple made, the contents of a .p8 file. It is a secret.
	Key []byte
	// KeyID and TeamID are the key's id and that of the team it belongs to, 10 characters each.
	KeyID, TeamID string
	// Topic is the bundle id of the app. Topics has the bundle ids of several apps by the name
	// in Device.App; an app that it does not have gets Topic.
	Topic  string
	Topics map[string]string
	// Sandbox pushes to apps that were built for development.
	Sandbox bool
	// Endpoint is an https: URL to push to in place of Apple's, without a path; "" for Apple's.
	Endpoint string
	// Connections bounds the HTTP/2 connections that take pushes; zero means
	// DefaultConnections.
	Connections int
	// Timeout bounds one attempt, from dialing to the answer's headers; zero means
	// DefaultTimeout.
	Timeout time.Duration
	// RootCAs are the authorities for servers' certificates; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the time.
	Now func() time.Time
}

// String returns what Identity of the Notifier returns, and not the key.
func (c Config) String() string { return c.identity() }

// GoString returns what String returns.
func (c Config) GoString() string { return c.identity() }

// LogValue returns what String returns.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.identity()) }

// identity names the credentials and what they are used for.
func (c Config) identity() string {
	topics := c.Topic
	for _, app := range sortedKeys(c.Topics) {
		topics += " " + app + "=" + c.Topics[app]
	}
	return "team " + c.TeamID + " key " + c.KeyID + " topic " + strings.TrimSpace(topics) + " at " + c.endpoint()
}

func (c Config) endpoint() string {
	switch {
	case c.Endpoint != "":
		return strings.TrimSuffix(c.Endpoint, "/")
	case c.Sandbox:
		return Sandbox
	default:
		return Production
	}
}

// validate returns the key of c, or everything that is wrong, joined.
func (c Config) validate() (*ecdsa.PrivateKey, error) {
	var problems []error
	wrong := func(field, value, want string) {
		problems = append(problems, &notifier.InvalidError{Field: field, Value: value, Want: want})
	}
	key, err := parseKey(c.Key)
	if err != nil {
		wrong("key", "(not shown)", "the contents of a .p8 file: a private key on P-256 in PEM, as PKCS #8")
	}
	if !validID(c.KeyID) {
		wrong("key_id", c.KeyID, "10 of A-Z and 0-9")
	}
	if !validID(c.TeamID) {
		wrong("team_id", c.TeamID, "10 of A-Z and 0-9")
	}
	if c.Topic == "" && len(c.Topics) == 0 || c.Topic != "" && !validTopic(c.Topic) {
		wrong("topic", c.Topic, "the app's bundle id, such as com.example.shop")
	}
	for _, app := range sortedKeys(c.Topics) {
		if app == "" || !validTopic(c.Topics[app]) {
			wrong("topics", app+": "+c.Topics[app], "the name of an app, and its bundle id such as com.example.shop")
		}
	}
	if c.Endpoint != "" && !validEndpoint(c.Endpoint) {
		wrong("endpoint", notifier.RedactURL(c.Endpoint), "an https: URL of a host, without a path")
	}
	if c.Connections < 0 || c.Connections > MaxConnections {
		wrong("connections", strconv.Itoa(c.Connections), "1 to "+strconv.Itoa(MaxConnections))
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		wrong("timeout", c.Timeout.String(), "a time above zero and up to "+MaxTimeout.String())
	}
	if c.Now == nil {
		problems = append(problems, errors.New("APNs needs a clock"))
	}
	return key, errors.Join(problems...)
}

// parseKey returns the key in a .p8 file. Its errors don't say what was in it.
func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("not a private key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PKCS #8 key")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("not a key on P-256")
	}
	return key, nil
}

// validID reports whether id is an id of Apple's developer accounts.
func validID(id string) bool {
	return len(id) == 10 && strings.IndexFunc(id, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) < 0
}

// validTopic reports whether topic can be a bundle id.
func validTopic(topic string) bool {
	return topic != "" && len(topic) <= 255 && strings.IndexFunc(topic, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-'
	}) < 0
}

func validEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil &&
		(u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
}
