package apns

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// The push types with special handling.
const (
	typeAlert        = "alert"
	typeBackground   = "background"
	typeVoIP         = "voip"
	typeLiveActivity = "liveactivity"
)

// pushTypes returns the push types that work with a provider token.
func pushTypes() []string {
	return []string{
		typeAlert, typeBackground, "complication", "controls", "fileprovider", typeLiveActivity, "location", "pushtotalk",
		typeVoIP, "widgets",
	}
}

// topicEnding returns the ending of a push type's topic, after the bundle id.
func topicEnding(pushType string) string {
	switch pushType {
	case "complication":
		return ".complication"
	case "controls":
		return ".push-type.controls"
	case "fileprovider":
		return ".pushkit.fileprovider"
	case typeLiveActivity:
		return ".push-type.liveactivity"
	case "location":
		return ".location-query"
	case "pushtotalk":
		return ".voip-ptt"
	case typeVoIP:
		return ".voip"
	case "widgets":
		return ".push-type.widgets"
	default:
		return ""
	}
}

// override is a message's additions for this channel.
type override struct {
	PushType   string         `json:"push_type"`
	Topic      string         `json:"topic"`
	Priority   *int           `json:"priority"`
	Expiration *int64         `json:"expiration"`
	CollapseID string         `json:"collapse_id"`
	Payload    map[string]any `json:"payload"`
}

func readOverride(raw json.RawMessage) (override, error) {
	var o override
	if len(raw) == 0 {
		return o, nil
	}
	if !exchange.ReadOverride(raw, &o) {
		return o, invalid("", "(not shown)",
			"an object with no other members than push_type, topic, priority, expiration, collapse_id and payload")
	}
	switch {
	case o.PushType != "" && !slices.Contains(pushTypes(), o.PushType):
		return o, invalid(".push_type", o.PushType, "one of "+strings.Join(pushTypes(), ", "))
	case o.Topic != "" && !validTopic(o.Topic):
		return o, invalid(".topic", o.Topic, "a bundle id such as com.example.shop")
	case o.Priority != nil && *o.Priority != 1 && *o.Priority != 5 && *o.Priority != 10:
		return o, invalid(".priority", strconv.Itoa(*o.Priority), "1, 5 or 10")
	case o.Expiration != nil && *o.Expiration < 0:
		return o, invalid(".expiration", strconv.FormatInt(*o.Expiration, 10), "a Unix time in seconds, or 0 to try once")
	case len(o.CollapseID) > maxCollapseID || !exchange.Printable(o.CollapseID):
		return o, invalid(".collapse_id", o.CollapseID, "at most 64 printable ASCII characters without spaces")
	}
	return o, nil
}

func invalid(member, value, want string) error {
	return &notifier.InvalidError{Field: "channels.apns" + member, Value: value, Want: want}
}

// priority returns the apns-priority. Apple refuses 10 for background pushes, and limits how many
// live activities may have it.
func priority(n notifier.Notification, o override, pushType string) (int, error) {
	const immediate, considerate = 10, 5
	switch {
	case o.Priority != nil:
		if pushType == typeBackground && *o.Priority == immediate {
			return 0, invalid(".priority", "10", "1 or 5 if nothing is shown, or if push_type is background")
		}
		return *o.Priority, nil
	case pushType == typeBackground, n.Priority == notifier.PriorityNormal:
		return considerate, nil
	case pushType == typeLiveActivity && n.Priority != notifier.PriorityHigh:
		return considerate, nil
	default:
		return immediate, nil
	}
}
