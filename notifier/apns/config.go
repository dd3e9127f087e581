package apns

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// DefaultTimeout is the default of Config.Timeout.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout is the maximum of Config.Timeout.
	MaxTimeout = 5 * time.Minute
	// DefaultConnections is the default of Config.Connections.
	DefaultConnections = 4
	// MaxConnections is the maximum of Config.Connections.
	MaxConnections = 64

	// Production is Apple's server for apps of the App Store and TestFlight.
	Production = "https://api.push.apple.com"
	// Sandbox is Apple's server for apps that Xcode installed.
	Sandbox = "https://api.sandbox.push.apple.com"

	// idLength is the length of the ids of keys and teams.
	idLength = 10
	// maxTopic bounds a bundle id, in bytes.
	maxTopic = 255
)

// Config configures a Notifier. Key, KeyID, TeamID, Now, and Topic or Topics are required.
type Config struct {
	// Key is the signing key, the content of Apple's .p8 file: PKCS #8 in PEM. It is a secret.
	Key []byte
	// KeyID and TeamID are 10 characters each, from Apple's developer account.
	KeyID, TeamID string
	// Topic is the app's bundle id.
	Topic string
	// Topics has the bundle ids of further apps, by a device's App. Devices of other apps get
	// Topic.
	Topics map[string]string
	// Sandbox pushes to apps that Xcode installed, not to those of the App Store and TestFlight. A
	// device belongs to one of the two.
	Sandbox bool
	// Endpoint replaces Apple's server, for tests: an https: URL without a path.
	Endpoint string
	// Connections bounds the HTTP/2 connections; zero means DefaultConnections. Apple allows
	// about 1,000 pushes at a time on each.
	Connections int
	// Timeout bounds one request, from waiting for a connection to the answer's headers; zero
	// means DefaultTimeout.
	Timeout time.Duration
	// UserAgent names the sender; empty means "sendlimit".
	UserAgent string
	// RootCAs are the authorities for the server's certificate; nil means the system's.
	RootCAs *x509.CertPool
	// Now returns the time.
	Now func() time.Time
}

// validate returns the key, or all problems, joined. It does not show the key.
func (c Config) validate() (*ecdsa.PrivateKey, error) {
	var problems []error
	wrong := func(field, value, want string) {
		problems = append(problems, &notifier.InvalidError{Field: field, Value: value, Want: want})
	}
	key, ok := parseKey(c.Key)
	if !ok {
		wrong("key", "(not shown)", "an APNs signing key: a P-256 key in PKCS #8 as PEM, the content of a .p8 file")
	}
	if !validID(c.KeyID) {
		wrong("key_id", c.KeyID, "10 letters and digits")
	}
	if !validID(c.TeamID) {
		wrong("team_id", c.TeamID, "10 letters and digits")
	}
	const wantTopic = "a bundle id such as com.example.shop"
	if c.Topic != "" && !validTopic(c.Topic) || c.Topic == "" && len(c.Topics) == 0 {
		wrong("topic", c.Topic, wantTopic)
	}
	for _, app := range slices.Sorted(maps.Keys(c.Topics)) {
		if !validTopic(c.Topics[app]) {
			wrong("topics."+app, c.Topics[app], wantTopic)
		}
	}
	if c.Endpoint != "" && !validEndpoint(c.Endpoint) {
		wrong("endpoint", notifier.RedactURL(c.Endpoint), "an https: URL without user, password, path and query")
	}
	if c.Connections < 0 || c.Connections > MaxConnections {
		wrong("connections", strconv.Itoa(c.Connections), "1 to "+strconv.Itoa(MaxConnections))
	}
	problems = append(problems, exchange.CheckTimeout("timeout", c.Timeout, MaxTimeout))
	if c.Now == nil {
		problems = append(problems, errors.New("apns needs a clock"))
	}
	return key, errors.Join(problems...)
}

// parseKey reads a .p8 file.
func parseKey(text []byte) (*ecdsa.PrivateKey, bool) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, false
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	return key, ok && key.Curve == elliptic.P256()
}

func validID(id string) bool {
	return len(id) == idLength && strings.IndexFunc(id, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

func validTopic(topic string) bool {
	return topic != "" && len(topic) <= maxTopic && strings.IndexFunc(topic, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}) < 0
}

func validEndpoint(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Path == "" && u.RawQuery == "" && u.Fragment == ""
}

// host returns the server's URL.
func (c Config) host() string {
	switch {
	case c.Endpoint != "":
		return c.Endpoint
	case c.Sandbox:
		return Sandbox
	default:
		return Production
	}
}

// topicOf returns the bundle id of a device's app; "" for none.
func (c Config) topicOf(app string) string {
	if topic, ok := c.Topics[app]; ok {
		return topic
	}
	return c.Topic
}

// allTopics returns all bundle ids.
func (c Config) allTopics() []string {
	all := slices.Collect(maps.Values(c.Topics))
	if c.Topic != "" {
		all = append(all, c.Topic)
	}
	return all
}

// anyTopic returns a bundle id, always the same one.
func (c Config) anyTopic() string {
	if c.Topic != "" {
		return c.Topic
	}
	return c.Topics[slices.Sorted(maps.Keys(c.Topics))[0]]
}
