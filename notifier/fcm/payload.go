package fcm

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	// MaxPayload is the maximum length of a payload, in bytes.
	MaxPayload = 4096
	// MaxTTL is the longest time to live.
	MaxTTL = 28 * 24 * time.Hour

	// maxCollapse is the longest apns-collapse-id, in bytes.
	maxCollapse = 64
	// topicLength is the length of a Topic of Web Push. Apple refuses other lengths.
	topicLength = 32

	fieldData     = "data"
	fieldOverride = "channels.fcm"
	fieldLink     = "click_url"
)

type object = map[string]any

// newMessage returns FCM's message for n without its target. The error is a *notifier.InvalidError
// that names the field.
func newMessage(n notifier.Notification, now time.Time) (object, error) {
	message := object{}
	set(message, "notification", texts(map[string]string{"title": n.Title, "body": n.Body, "image": n.Image}))
	set(message, "data", newData(n))
	key := collapseKey(n)
	set(message, "android", newAndroid(n, key, now))
	set(message, "apns", newAPNs(n, key))
	set(message, "webpush", newWebPush(n, key, now))
	if err := override(message, n.Override); err != nil {
		return nil, err
	}
	if err := checkData(message); err != nil {
		return nil, err
	}
	return message, nil
}

// newBody returns the body of a request. It measures the message only if it may be too large.
func newBody(message object) ([]byte, error) {
	body, err := exchange.Encode(object{"message": message})
	if err == nil && len(body) > MaxPayload {
		err = checkSize(message)
	}
	return body, err
}

// set adds an object if it is not empty.
func set(to object, name string, value object) {
	if len(value) > 0 {
		to[name] = value
	}
}

// texts returns an object with the texts that are not empty.
func texts(all map[string]string) object {
	some := object{}
	for name, text := range all {
		if text != "" {
			some[name] = text
		}
	}
	return some
}

func newData(n notifier.Notification) object {
	data := object{}
	if n.ClickURL != "" {
		data[fieldLink] = n.ClickURL
	}
	for key, value := range n.Data {
		data[key] = value
	}
	return data
}

func newAndroid(n notifier.Notification, key string, now time.Time) object {
	shown := texts(map[string]string{"sound": n.Sound, "tag": key})
	if n.Badge != nil {
		shown["notification_count"] = *n.Badge
	}
	android := texts(map[string]string{"collapse_key": key, "priority": strings.ToUpper(string(n.Priority))})
	if !n.ExpiresAt.IsZero() {
		android["ttl"] = strconv.FormatInt(ttl(n, now), 10) + "s"
	}
	set(android, "notification", shown)
	return android
}

func newAPNs(n notifier.Notification, key string) object {
	headers := texts(map[string]string{"apns-collapse-id": key})
	switch n.Priority {
	case notifier.PriorityHigh:
		headers["apns-priority"] = "10"
	case notifier.PriorityNormal:
		headers["apns-priority"] = "5"
	default:
	}
	if !n.ExpiresAt.IsZero() {
		headers["apns-expiration"] = strconv.FormatInt(max(n.ExpiresAt.Unix(), 0), 10)
	}
	aps := texts(map[string]string{"sound": n.Sound})
	if n.Badge != nil {
		aps["badge"] = *n.Badge
	}
	apns := object{}
	set(apns, "headers", headers)
	if len(aps) > 0 {
		apns["payload"] = object{"aps": aps}
	}
	return apns
}

func newWebPush(n notifier.Notification, key string, now time.Time) object {
	headers := texts(map[string]string{"Urgency": string(n.Priority)})
	if key != "" {
		sum := sha256.Sum256([]byte(key))
		headers["Topic"] = base64.RawURLEncoding.EncodeToString(sum[:])[:topicLength]
	}
	if !n.ExpiresAt.IsZero() {
		headers["TTL"] = strconv.FormatInt(ttl(n, now), 10)
	}
	web := object{}
	set(web, "headers", headers)
	// FCM refuses a link that is not https:.
	if link, err := url.Parse(n.ClickURL); err == nil && link.Scheme == "https" && link.Host != "" {
		web["fcm_options"] = object{"link": n.ClickURL}
	}
	return web
}

// ttl returns how long FCM keeps the message for an offline device, in seconds.
func ttl(n notifier.Notification, now time.Time) int64 {
	return int64(min(max(n.ExpiresAt.Sub(now), 0), MaxTTL) / time.Second)
}

// collapseKey returns the key by which a message replaces another. It is valid on every platform.
func collapseKey(n notifier.Notification) string {
	key := cmp.Or(n.CollapseKey, n.IdempotencyKey)
	if len(key) > maxCollapse || !exchange.Printable(key) {
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:16])
	}
	return key
}

// override merges a message's additions for this channel (RFC 7396).
func override(message object, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var patch object
	if !exchange.ReadOverride(raw, &patch) || patch == nil {
		return &notifier.InvalidError{Field: fieldOverride, Value: "(not shown)", Want: "an object, which is merged into FCM's message"}
	}
	for _, name := range []string{"token", "topic", "condition", "name"} {
		if _, ok := patch[name]; ok {
			return &notifier.InvalidError{Field: fieldOverride + "." + name, Value: "(not shown)", Want: "nothing: the device is the target"}
		}
	}
	if err := checkHeaders(patch); err != nil {
		return err
	}
	exchange.Merge(message, patch)
	return nil
}

// checkData checks that data are texts, and that FCM does not reserve their keys.
func checkData(message object) error {
	android, _ := message["android"].(object)
	web, _ := message["webpush"].(object)
	for _, data := range []any{message["data"], android["data"], web["data"]} {
		if data == nil {
			continue
		}
		pairs, ok := data.(object)
		if !ok {
			return &notifier.InvalidError{Field: fieldData, Value: "(not shown)", Want: "an object of texts in fcm"}
		}
		for key, value := range pairs {
			if key == "from" || key == "message_type" || strings.HasPrefix(key, "google") || strings.HasPrefix(key, "gcm") {
				return &notifier.InvalidError{Field: fieldData, Value: key, Want: "keys other than from, message_type and those that begin with google or gcm in fcm"}
			}
			if _, ok := value.(string); !ok {
				return &notifier.InvalidError{Field: fieldData, Value: key, Want: "texts as values in fcm"}
			}
		}
	}
	return nil
}

// checkSize measures what a device receives: notification and data for all platforms, and those for
// its own.
func checkSize(message object) error {
	android, _ := message["android"].(object)
	apns, _ := message["apns"].(object)
	web, _ := message["webpush"].(object)
	own := 0
	for _, parts := range [][]any{
		{android["notification"], android["data"]}, {apns["payload"]}, {web["notification"], web["data"]},
	} {
		length, err := size(parts...)
		if err != nil {
			return err
		}
		own = max(own, length)
	}
	length, err := size(message["notification"], message["data"])
	if err != nil {
		return err
	}
	return exchange.CheckSize(length+own, MaxPayload, "fcm", "fcm")
}

// size returns the length of values as JSON, in bytes.
func size(values ...any) (int, error) {
	length := 0
	for _, value := range values {
		if value == nil {
			continue
		}
		text, err := exchange.Encode(value)
		if err != nil {
			return 0, err
		}
		length += len(text)
	}
	return length, nil
}
