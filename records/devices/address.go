package devices

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// canonical returns the canonical spelling of an address. The error is an *InvalidError, which
// does not show the address.
func canonical(channel, address string) (string, error) {
	switch channel {
	case FCM:
		if address == "" || len(address) > MaxAddress || !printable(address) {
			return "", wrongAddress(wantToken)
		}
		if what := otherAddress(address); what != "" {
			return "", wrongAddress(wantToken + ": this is " + what)
		}
		return address, nil
	case APNs:
		lower := strings.ToLower(address)
		if len(lower) < hexToken || len(lower) > 200 || !keyspace.OnlyBytes(lower, hexDigits) {
			return "", wrongAddress("a device token, 64 to 200 hexadecimal digits")
		}
		return lower, nil
	case WebPush:
		return canonicalSubscription(address)
	default:
		return "", &fault.InvalidError{Field: "channel", Value: channel, Want: "fcm, apns or webpush"}
	}
}

const wantToken = "a registration token, 1 to 4,096 printable characters without spaces"

// notTokens are the words that apps and exports write for a missing token, in small letters. The
// last ones are errors of Google's libraries that apps mistook for tokens.
var notTokens = []string{ //nolint:globals // a constant table
	"null", "(null)", "undefined", "nan", "none", "nil", "n/a", "#n/a", "blacklisted", "service_not_available",
	"missing_instanceid", "invalid_sender", "authentication_failed", "fis_auth_error",
}

// otherAddress describes an address that is no FCM registration token; "" if it may be one.
func otherAddress(address string) string {
	lower := strings.ToLower(address)
	switch {
	case slices.Contains(notTokens, lower):
		return "what an app or an export writes for a missing one"
	case strings.HasPrefix(lower, "exponentpushtoken[") || strings.HasPrefix(lower, "expopushtoken["):
		return "a token of Expo: register the token that getDevicePushTokenAsync returns"
	case strings.HasPrefix(lower, "https://") || strings.HasPrefix(lower, "http://"):
		return "the endpoint of a browser: register its subscription with the channel webpush"
	case len(address) == hexToken && keyspace.OnlyBytes(lower, hexDigits):
		return "a token of Apple's: use the channel apns"
	default:
		return ""
	}
}

const (
	hexDigits = "0123456789abcdef"
	hexToken  = 64 // the digits of a token of Apple's
)

func wrongAddress(want string) error {
	return &fault.InvalidError{Field: "address", Value: "(not shown)", Want: want}
}

// printable reports whether a text is printable ASCII without spaces.
func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// subscription is the JSON of a browser's PushSubscription.
type subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// canonicalSubscription returns a subscription without spaces and with only the fields that a push
// needs. It does not check whether the host is allowed: the channel does.
func canonicalSubscription(address string) (string, error) {
	var s subscription
	if len(address) > MaxAddress || json.Unmarshal([]byte(address), &s) != nil {
		return "", wrongAddress("the JSON of a PushSubscription, with endpoint and keys, of at most 4,096 bytes")
	}
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil || endpoint.Scheme != "https" || endpoint.Hostname() == "" || endpoint.User != nil ||
		strings.ContainsAny(s.Endpoint, `#"\`) || !printable(s.Endpoint) {
		return "", wrongAddress("an endpoint that is an https: URL without user, password and fragment")
	}
	point, err := decodeKey(s.Keys.P256dh)
	if err != nil {
		return "", wrongAddress(wantPublic)
	}
	if _, err := ecdh.P256().NewPublicKey(point); err != nil {
		return "", wrongAddress(wantPublic)
	}
	auth, err := decodeKey(s.Keys.Auth)
	if err != nil || len(auth) != 16 {
		return "", wrongAddress("a key auth of 16 bytes in base64url")
	}
	s.Keys.P256dh = base64.RawURLEncoding.EncodeToString(point)
	s.Keys.Auth = base64.RawURLEncoding.EncodeToString(auth)
	var compact bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return "", wrongAddress("a subscription that can be written as JSON")
	}
	return strings.TrimSuffix(compact.String(), "\n"), nil
}

const wantPublic = "a key p256dh that is a point on P-256, 65 bytes in base64url"

// decodeKey reads base64url, and base64 as some libraries write it, with or without padding.
func decodeKey(text string) ([]byte, error) {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	return base64.RawURLEncoding.DecodeString(text)
}
