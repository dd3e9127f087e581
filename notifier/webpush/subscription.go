package webpush

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	publicBytes = 65 // of an uncompressed point on P-256
	authBytes   = 16
	// maxSubscription bounds a subscription's JSON, in bytes. Real ones have less than 1,000.
	maxSubscription = 4096
)

// Subscription is a browser's push subscription, the Address of a device. Create one with
// ParseSubscription. It is a secret.
type Subscription struct {
	endpoint *url.URL
	public   *ecdh.PublicKey
	auth     []byte
}

// ParseSubscription reads the JSON of a browser's PushSubscription. The error is a
// *notifier.InvalidError, and shows nothing of it. It does not check whether the host is allowed,
// see Notifier.CheckAddress.
func ParseSubscription(address string) (Subscription, error) {
	var written struct {
		Endpoint string `json:"endpoint"`
		Keys     struct {
			P256dh string `json:"p256dh"`
			Auth   string `json:"auth"`
		} `json:"keys"`
	}
	if len(address) > maxSubscription || json.Unmarshal([]byte(address), &written) != nil {
		return Subscription{}, invalidAddress("the JSON of a PushSubscription, with endpoint and keys, of at most 4,096 bytes")
	}
	endpoint, err := url.Parse(written.Endpoint)
	if err != nil || endpoint.Scheme != "https" || endpoint.Hostname() == "" || endpoint.User != nil || endpoint.Fragment != "" {
		return Subscription{}, invalidAddress("an endpoint that is an https: URL without user, password and fragment")
	}
	point, err := decode(written.Keys.P256dh)
	if err != nil {
		return Subscription{}, invalidAddress(wantPublic)
	}
	public, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return Subscription{}, invalidAddress(wantPublic)
	}
	auth, err := decode(written.Keys.Auth)
	if err != nil || len(auth) != authBytes {
		return Subscription{}, invalidAddress("a key auth of 16 bytes in base64url")
	}
	return Subscription{endpoint: endpoint, public: public, auth: auth}, nil
}

const wantPublic = "a key p256dh that is a point on P-256, 65 bytes in base64url"

func invalidAddress(want string) error {
	return &notifier.InvalidError{Field: "address", Value: "(not shown)", Want: want}
}

// decode reads base64url and base64, with or without padding.
func decode(text string) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	return base64.RawURLEncoding.DecodeString(text)
}

// origin returns the endpoint's scheme, host and port.
func (s Subscription) origin() string { return "https://" + strings.ToLower(s.endpoint.Host) }

// host returns the endpoint's host in lower case, without port.
func (s Subscription) host() string { return hostOf(s.endpoint) }

func hostOf(endpoint *url.URL) string {
	return strings.ToLower(strings.TrimSuffix(endpoint.Hostname(), "."))
}
