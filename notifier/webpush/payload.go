package webpush

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxTTL is the longest time to live that every push service accepts.
	MaxTTL = 28 * 24 * time.Hour
	// DefaultTTL is the time to live of a message without an expiry.
	DefaultTTL = 24 * time.Hour

	// declarative marks declarative Web Push.
	declarative = 8030
	// topicLength is the length of a Topic. Apple refuses other lengths.
	topicLength = 32
)

// payload is the decrypted JSON, see the package's documentation.
type payload struct {
	WebPush      int            `json:"web_push,omitempty"`
	ID           string         `json:"id"`
	Category     string         `json:"category,omitempty"`
	SendAt       string         `json:"send_at,omitempty"`
	Notification map[string]any `json:"notification"`
	AppBadge     *int           `json:"app_badge,omitempty"`
	Mutable      bool           `json:"mutable,omitempty"`
}

// override is a message's additions for this channel.
type override struct {
	Urgency      string         `json:"urgency"`
	TTL          *int64         `json:"ttl"`
	Notification map[string]any `json:"notification"`
}

func readOverride(raw json.RawMessage) (override, error) {
	var o override
	if len(raw) == 0 {
		return o, nil
	}
	switch {
	case !exchange.ReadOverride(raw, &o):
		return o, &notifier.InvalidError{Field: "channels.webpush", Value: "(not shown)", Want: "an object with no other members than urgency, ttl and notification"}
	case !slices.Contains([]string{"", "very-low", "low", "normal", "high"}, o.Urgency):
		return o, &notifier.InvalidError{Field: "channels.webpush.urgency", Value: o.Urgency, Want: "very-low, low, normal or high"}
	case o.TTL != nil && (*o.TTL < 0 || *o.TTL > int64(MaxTTL/time.Second)):
		return o, &notifier.InvalidError{Field: "channels.webpush.ttl", Value: strconv.FormatInt(*o.TTL, 10), Want: "0 to 2,419,200 seconds"}
	}
	return o, nil
}

// push is a Notification before encryption.
type push struct {
	payload []byte
	ttl     time.Duration
	urgency string
	topic   string
}

// newPush returns the push of n. The error is a *notifier.InvalidError that names the field.
func newPush(n notifier.Notification, now time.Time) (push, error) {
	o, err := readOverride(n.Override)
	if err != nil {
		return push{}, err
	}
	text, err := exchange.Encode(newPayload(n, o))
	if err != nil {
		return push{}, err
	}
	if err := exchange.CheckSize(len(text), MaxPayload, "web push", "webpush"); err != nil {
		return push{}, err
	}
	p := push{payload: text, ttl: ttl(n, o, now), urgency: o.Urgency, topic: topic(n)}
	if p.urgency == "" {
		p.urgency = "normal"
		if n.Priority == notifier.PriorityHigh {
			p.urgency = "high"
		}
	}
	return p, nil
}

func newPayload(n notifier.Notification, o override) payload {
	shown := map[string]any{}
	for name, text := range map[string]string{"title": n.Title, "body": n.Body, "image": n.Image, "navigate": n.ClickURL} {
		if text != "" {
			shown[name] = text
		}
	}
	// Browsers replace a notification with the same tag, so a second copy is not shown twice.
	shown["tag"] = cmp.Or(n.CollapseKey, n.ID)
	if len(n.Data) > 0 {
		shown["data"] = n.Data
	}
	for name, value := range o.Notification {
		if value == nil {
			delete(shown, name)
			continue
		}
		shown[name] = value
	}
	p := payload{ID: n.ID, Category: n.Category, Notification: shown, AppBadge: n.Badge}
	if !n.SendAt.IsZero() {
		p.SendAt = n.SendAt.UTC().Format(notifier.TimeLayout)
	}
	if declares(shown) {
		p.WebPush, p.Mutable = declarative, true
	}
	return p
}

// declares reports whether a browser can show a notification without a service worker: it needs a
// title and a URL.
func declares(shown map[string]any) bool {
	title, _ := shown["title"].(string)
	link, _ := shown["navigate"].(string)
	target, err := url.Parse(link)
	return title != "" && err == nil && target.Hostname() != "" && (target.Scheme == "https" || target.Scheme == "http")
}

// ttl returns how long the push service keeps the push for an offline browser.
func ttl(n notifier.Notification, o override, now time.Time) time.Duration {
	switch {
	case o.TTL != nil:
		return time.Duration(*o.TTL) * time.Second
	case n.ExpiresAt.IsZero():
		return DefaultTTL
	default:
		return min(max(n.ExpiresAt.Sub(now), 0), MaxTTL).Truncate(time.Second)
	}
}

// topic returns the Topic: a push replaces one with the same topic that waits at the push service.
// It shows neither the user nor the id.
func topic(n notifier.Notification) string {
	text := "message\x00" + n.IdempotencyKey
	if n.CollapseKey != "" {
		text = "collapse\x00" + n.CollapseKey
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:topicLength]
}
