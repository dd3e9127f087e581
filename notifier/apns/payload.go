package apns

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxPayload is the maximum size of a payload, in bytes.
	MaxPayload = 4096
	// MaxVoIPPayload is the maximum for the push type voip.
	MaxVoIPPayload = 5120

	// DefaultTTL is how long Apple keeps a push for an offline device if the message has no expiry.
	DefaultTTL = 24 * time.Hour
	// MaxTTL is the longest time that Apple keeps a push.
	MaxTTL = 30 * 24 * time.Hour

	// maxCollapseID bounds apns-collapse-id, in bytes.
	maxCollapseID = 64

	// aps is Apple's member of a payload.
	aps = "aps"
)

// push is a Notification in Apple's format.
type push struct {
	payload    []byte
	topic      string
	chosen     bool // the message chose the topic, which is not that of the device's app
	pushType   string
	priority   int
	expiration int64 // Unix time in seconds; 0 for now or never
	collapseID string
}

// newPush returns the push of n. topic is that of the device's app, and topics are those that a
// message may choose from; nil if they are unknown. The error is a *notifier.InvalidError.
func newPush(n notifier.Notification, topic string, topics []string, now time.Time) (push, error) {
	o, err := readOverride(n.Override)
	if err != nil {
		return push{}, err
	}
	content, err := newPayload(n, o)
	if err != nil {
		return push{}, err
	}
	p := push{topic: topic, pushType: o.PushType, expiration: expiration(n, o, now), collapseID: collapseID(n, o)}
	if o.Topic != "" {
		p.topic = o.Topic
	}
	shown := content[aps].(map[string]any) //nolint:forcetypeassert // newPayload checks it
	if p.pushType == "" {
		p.pushType = typeBackground
		if shows(shown) {
			p.pushType = typeAlert
		}
	}
	complete(shown, p.pushType, n, now)
	ending := topicEnding(p.pushType)
	if o.Topic != "" && topics != nil && !slices.Contains(topics, o.Topic) && !slices.Contains(topics, strings.TrimSuffix(o.Topic, ending)) {
		return push{}, invalid(".topic", o.Topic, "a bundle id that the channel is set up with")
	}
	if p.topic != "" && !strings.HasSuffix(p.topic, ending) {
		p.topic += ending
	}
	p.chosen = p.topic != topic
	if p.priority, err = priority(n, o, p.pushType); err != nil {
		return push{}, err
	}
	if p.payload, err = exchange.Encode(content); err != nil {
		return push{}, err
	}
	longest := MaxPayload
	if p.pushType == typeVoIP {
		longest = MaxVoIPPayload
	}
	return p, exchange.CheckSize(len(p.payload), longest, "apns", "apns")
}

// newPayload returns the payload, see the package's documentation.
func newPayload(n notifier.Notification, o override) (map[string]any, error) {
	content := map[string]any{}
	alert, shown := map[string]any{}, map[string]any{}
	for _, member := range []struct {
		of    map[string]any
		name  string
		value string
	}{
		{content, "id", n.ID},
		{content, "category", n.Category},
		{content, "image", n.Image},
		{content, "click_url", n.ClickURL},
		{alert, "title", n.Title},
		{alert, "body", n.Body},
		{shown, "sound", n.Sound},
	} {
		if member.value != "" {
			member.of[member.name] = member.value
		}
	}
	if !n.SendAt.IsZero() {
		content["send_at"] = n.SendAt.UTC().Format(notifier.TimeLayout)
	}
	if len(alert) > 0 {
		shown["alert"] = alert
	}
	if n.Badge != nil {
		shown["badge"] = *n.Badge
	}
	if n.Image != "" {
		// The app's notification service extension loads the image.
		shown["mutable-content"] = 1
	}
	for name, value := range n.Data {
		if name == aps {
			return nil, &notifier.InvalidError{Field: "data", Value: name, Want: "any other key in apns, where it is Apple's own"}
		}
		content[name] = value
	}
	content[aps] = shown
	exchange.Merge(content, o.Payload)
	if _, ok := content[aps].(map[string]any); !ok {
		return nil, &notifier.InvalidError{Field: "channels.apns.payload", Value: "(not shown)", Want: "an object as its member aps"}
	}
	return content, nil
}

// shows reports whether the user can see or hear a push.
func shows(shown map[string]any) bool {
	for _, name := range []string{"alert", "badge", "sound"} {
		if _, ok := shown[name]; ok {
			return true
		}
	}
	return false
}

// complete adds the required members of a push type.
func complete(shown map[string]any, pushType string, n notifier.Notification, now time.Time) {
	add := func(name string, value any) {
		if _, ok := shown[name]; !ok {
			shown[name] = value
		}
	}
	switch pushType {
	case typeBackground:
		add("content-available", 1)
	case typeLiveActivity:
		// It orders the updates of an activity: an old update does not replace a newer one.
		at := n.SendAt
		if at.IsZero() {
			at = now
		}
		add("timestamp", at.Unix())
	default:
	}
}

// expiration returns the time until which Apple keeps the push for an offline device.
func expiration(n notifier.Notification, o override, now time.Time) int64 {
	switch {
	case o.Expiration != nil:
		return *o.Expiration
	case n.ExpiresAt.IsZero():
		return now.Add(DefaultTTL).Unix()
	case !n.ExpiresAt.After(now):
		return 0
	case n.ExpiresAt.Sub(now) > MaxTTL:
		return now.Add(MaxTTL).Unix()
	default:
		return n.ExpiresAt.Unix()
	}
}

// collapseID returns the apns-collapse-id: a push replaces one with the same id on the device. It
// is unique to the message by default, so that a second copy replaces the first.
func collapseID(n notifier.Notification, o override) string {
	switch {
	case o.CollapseID != "":
		return o.CollapseID
	case n.CollapseKey == "":
		return n.IdempotencyKey
	case len(n.CollapseKey) <= maxCollapseID && exchange.Printable(n.CollapseKey):
		return n.CollapseKey
	default:
		sum := sha256.Sum256([]byte(n.CollapseKey))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
}

// pushID returns the apns-id: the same UUID at every attempt of a message to a device.
func pushID(n notifier.Notification) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("apns\x00"+n.IdempotencyKey+"\x00"+n.Device.ID)).String()
}
