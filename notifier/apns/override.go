package apns

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
)

// fieldOverride is the field of errors for what a message says for this channel alone.
const fieldOverride = "channels.apns"

// override is what a message says for this channel alone.
type override struct {
	PushType    string         `json:"push_type"`
	Priority    *int           `json:"priority"`
	TopicSuffix *string        `json:"topic_suffix"`
	Payload     map[string]any `json:"payload"`
}

// readOverride returns the override of a Notification.
func readOverride(raw json.RawMessage) (override, error) {
	var o override
	if len(raw) == 0 {
		return o, nil
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	in.UseNumber()
	// A decoder stops behind the first value.
	if err := in.Decode(&o); err != nil || !json.Valid(raw) {
		return o, &notifier.InvalidError{
			Field: fieldOverride, Value: "(not shown)",
			Want: "an object with no other members than push_type, priority, topic_suffix and payload",
		}
	}
	if _, known := suffix(o.PushType); o.PushType != "" && !known {
		return o, &notifier.InvalidError{
			Field: fieldOverride + ".push_type", Value: o.PushType,
			Want: "alert, background, voip, complication, fileprovider, location, liveactivity, pushtotalk, widgets or controls",
		}
	}
	if o.Priority != nil && *o.Priority != 1 && *o.Priority != 5 && *o.Priority != 10 {
		return o, &notifier.InvalidError{Field: fieldOverride + ".priority", Value: strconv.Itoa(*o.Priority), Want: "1, 5 or 10"}
	}
	if s := o.TopicSuffix; s != nil && *s != "" && (!strings.HasPrefix(*s, ".") || !validTopic(*s)) {
		return o, &notifier.InvalidError{
			Field: fieldOverride + ".topic_suffix", Value: *s, Want: "a point and what follows the bundle id, such as .voip",
		}
	}
	return o, nil
}

// suffix returns what follows the bundle id in the topic of a push type, and whether there is
// such a type.
func suffix(pushType string) (text string, known bool) {
	switch pushType {
	case typeAlert, typeBackground:
		return "", true
	case typeVoIP:
		return ".voip", true
	case "complication":
		return ".complication", true
	case "fileprovider":
		return ".pushkit.fileprovider", true
	case "location":
		return ".location-query", true
	case typeLiveActivity:
		return ".push-type.liveactivity", true
	case "pushtotalk":
		return ".voip-ptt", true
	case "widgets":
		return ".push-type.widgets", true
	case "controls":
		return ".push-type.controls", true
	default:
		return "", false
	}
}

// merge applies a JSON merge patch (RFC 7396) to target, which it changes.
func merge(target, patch map[string]any) map[string]any {
	if target == nil {
		target = make(map[string]any, len(patch))
	}
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			inner, _ := target[name].(map[string]any)
			target[name] = merge(inner, v)
		default:
			target[name] = v
		}
	}
	return target
}
