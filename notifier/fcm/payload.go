package fcm

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// MaxPayload is the most that a push may say, in bytes: its notification and its data as
	// JSON.
	MaxPayload = 4096
	// MaxTTL is the longest time to live.
	MaxTTL = 28 * 24 * time.Hour

	fieldMessage  = "message"
	fieldOverride = "channels.fcm"
)

// Check returns a *notifier.InvalidError that names the field if Google would refuse n: it is
// too large, its data has reserved keys, or what it says for this channel alone is not allowed.
func Check(n notifier.Notification) error {
	_, err := newMessage(n, time.Time{})
	return err
}

// object is a JSON object.
type object = map[string]any

// newMessage returns the message of n at a time, without its target. The error is a
// *notifier.InvalidError.
func newMessage(n notifier.Notification, now time.Time) (object, error) {
	for key := range n.Data {
		if reserved(key) {
			return nil, &notifier.InvalidError{
				Field: "data", Value: key, Want: "other keys than from, message_type, and those that begin with google or gcm, in fcm",
			}
		}
	}
	message := object{"android": android(n, now), "apns": apns(n, now), "webpush": webpush(n, now)}
	if shown := filled(object{"title": n.Title, "body": n.Body, "image": n.Image}); len(shown) > 0 {
		message["notification"] = shown
	}
	data := object{}
	if n.ClickURL != "" {
		data["click_url"] = n.ClickURL
	}
	for key, value := range n.Data {
		data[key] = value
	}
	if len(data) > 0 {
		message["data"] = data
	}
	if err := override(message, n.Override); err != nil {
		return nil, err
	}
	size := 0
	for _, member := range []string{"notification", "data"} {
		if value, ok := message[member]; ok {
			text, err := encode(value)
			if err != nil {
				return nil, err
			}
			size += len(text)
		}
	}
	if size > MaxPayload {
		return nil, &notifier.InvalidError{
			Field: fieldMessage, Value: fmt.Sprintf("%d bytes", size),
			Want: fmt.Sprintf("at most %d bytes as JSON in fcm, with title, body, data and URLs", MaxPayload),
		}
	}
	return message, nil
}

func reserved(key string) bool {
	return key == "from" || key == "message_type" || strings.HasPrefix(key, "google") || strings.HasPrefix(key, "gcm")
}

// android is what Android phones get beside the notification.
func android(n notifier.Notification, now time.Time) object {
	shown := filled(object{"sound": n.Sound, "tag": collapseKey(n)})
	if n.Badge != nil {
		shown["notification_count"] = *n.Badge
	}
	priority := "HIGH"
	if n.Priority == notifier.PriorityNormal {
		priority = "NORMAL"
	}
	// Without a collapse key of the caller there is none: Google keeps at most four for a
	// device that is offline, and lets only a few collapsible messages through.
	return filled(object{
		"priority": priority, "ttl": ttl(n, now), "collapse_key": n.CollapseKey, "notification": shown,
	})
}

// apns is what iPhones get beside the notification.
func apns(n notifier.Notification, now time.Time) object {
	priority := "10"
	if n.Priority == notifier.PriorityNormal {
		priority = "5"
	}
	headers := filled(object{"apns-priority": priority, "apns-collapse-id": collapseKey(n)})
	if !n.ExpiresAt.IsZero() {
		headers["apns-expiration"] = strconv.FormatInt(n.ExpiresAt.Unix(), 10)
	}
	aps := filled(object{"sound": n.Sound})
	if n.Badge != nil {
		aps["badge"] = *n.Badge
	}
	all := object{"headers": headers}
	if n.Image != "" {
		aps["mutable-content"] = 1
		all["fcm_options"] = object{"image": n.Image}
	}
	if len(aps) > 0 {
		all["payload"] = object{"aps": aps}
	}
	return all
}

// webpush is what browsers get beside the notification.
func webpush(n notifier.Notification, now time.Time) object {
	urgency := "high"
	if n.Priority == notifier.PriorityNormal {
		urgency = "normal"
	}
	sum := sha256.Sum256([]byte(collapseKey(n)))
	headers := object{"Urgency": urgency, "Topic": base64.RawURLEncoding.EncodeToString(sum[:24])}
	if seconds := strings.TrimSuffix(ttl(n, now), "s"); seconds != "" {
		headers["TTL"] = seconds
	}
	all := object{"headers": headers}
	if u, err := url.Parse(n.ClickURL); err == nil && u.Scheme == "https" {
		all["fcm_options"] = object{"link": n.ClickURL}
	}
	return all
}

// collapseKey returns what makes a second copy of a message replace the first on the device.
func collapseKey(n notifier.Notification) string {
	if n.CollapseKey != "" {
		return n.CollapseKey
	}
	return n.IdempotencyKey
}

// ttl returns for how long Google keeps the message, such as "3600s"; "" for the default of
// four weeks.
func ttl(n notifier.Notification, now time.Time) string {
	if n.ExpiresAt.IsZero() || now.IsZero() {
		return ""
	}
	left := min(max(n.ExpiresAt.Sub(now), 0), MaxTTL)
	return strconv.FormatInt(int64(left/time.Second), 10) + "s"
}

// filled returns o without what is empty.
func filled(o object) object {
	for name, value := range o {
		switch v := value.(type) {
		case string:
			if v == "" {
				delete(o, name)
			}
		case object:
			if len(v) == 0 {
				delete(o, name)
			}
		}
	}
	return o
}

// override merges what a message says for this channel alone, as RFC 7396 says.
func override(message object, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var patch object
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	// A decoder stops behind the first value.
	if err := in.Decode(&patch); err != nil || !json.Valid(raw) || patch == nil {
		return &notifier.InvalidError{Field: fieldOverride, Value: "(not shown)", Want: "an object, a message of FCM's HTTP v1 API"}
	}
	for name := range patch {
		switch name {
		case "notification", "data", "android", "apns", "webpush", "fcm_options":
		default:
			return &notifier.InvalidError{
				Field: fieldOverride, Value: name, Want: "the members notification, data, android, apns, webpush and fcm_options",
			}
		}
	}
	merge(message, patch)
	return nil
}

// merge applies a merge patch.
func merge(into, patch object) {
	for name, value := range patch {
		inner, isObject := value.(object)
		switch {
		case value == nil:
			delete(into, name)
		case isObject:
			former, ok := into[name].(object)
			if !ok {
				former = object{}
			}
			merge(former, inner)
			into[name] = former
		default:
			into[name] = value
		}
	}
}

// encode returns JSON in which < > and & are not escaped, which is shorter.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if err := out.Encode(value); err != nil {
		return nil, fmt.Errorf("encode a push: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
