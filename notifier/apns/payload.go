package apns

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// MaxPayload is the longest payload in bytes, and MaxVoIPPayload that of the push type voip.
	MaxPayload     = 4096
	MaxVoIPPayload = 5120

	// maxCollapseID is the longest collapse id in bytes.
	maxCollapseID = 64

	// fieldMessage is the field of the error for a message that is too large.
	fieldMessage = "message"
)

// The push types that differ in more than the topic.
const (
	typeAlert        = "alert"
	typeBackground   = "background"
	typeVoIP         = "voip"
	typeLiveActivity = "liveactivity"
)

// The values of apns-priority.
const (
	atOnce    = 10
	sparingly = 5
)

// Check returns a *notifier.InvalidError if n is too large for a push, if its data has a
// member aps, or if what it says for this channel alone is not allowed.
func Check(n notifier.Notification) error {
	_, err := newPush(n)
	return err
}

// push is a Notification as APNs gets it, as far as no setting and no device matters.
type push struct {
	payload     []byte
	pushType    string
	priority    int
	topicSuffix string // after the bundle id
	collapseID  string
}

// newPush returns the push of n. The error is a *notifier.InvalidError that names the field.
func newPush(n notifier.Notification) (push, error) {
	o, err := readOverride(n.Override)
	if err != nil {
		return push{}, err
	}
	if _, reserved := n.Data["aps"]; reserved {
		return push{}, &notifier.InvalidError{Field: "data.aps", Value: "(not shown)", Want: "no member of this name: it is Apple's"}
	}
	p := push{pushType: o.PushType, collapseID: collapseID(n)}
	silent := n.Title == "" && n.Body == "" && n.Badge == nil && n.Sound == ""
	if p.pushType == "" {
		p.pushType = typeAlert
		if silent {
			p.pushType = typeBackground
		}
	}
	p.topicSuffix, _ = suffix(p.pushType)
	if o.TopicSuffix != nil {
		p.topicSuffix = *o.TopicSuffix
	}
	p.priority = priority(p.pushType, n.Priority)
	if o.Priority != nil {
		p.priority = *o.Priority
	}
	if p.payload, err = encode(merge(newPayload(n, p.pushType), o.Payload)); err != nil {
		return push{}, err
	}
	most := MaxPayload
	if p.pushType == typeVoIP {
		most = MaxVoIPPayload
	}
	if len(p.payload) > most {
		return push{}, &notifier.InvalidError{
			Field: fieldMessage, Value: fmt.Sprintf("%d bytes", len(p.payload)),
			Want: fmt.Sprintf("at most %d bytes as JSON in APNs, with title, body, data, URLs and channels.apns", most),
		}
	}
	return p, nil
}

// priority returns the apns-priority of a push type. Apple allows only 5 for background pushes,
// and has a budget for updates of Live Activities with 10.
func priority(pushType string, asked notifier.Priority) int {
	switch {
	case pushType == typeBackground, asked == notifier.PriorityNormal:
		return sparingly
	case pushType == typeLiveActivity && asked != notifier.PriorityHigh:
		return sparingly
	default:
		return atOnce
	}
}

// newPayload returns the payload of n, see the package's documentation.
func newPayload(n notifier.Notification, pushType string) map[string]any {
	payload := make(map[string]any, len(n.Data)+3)
	for name, value := range n.Data {
		payload[name] = value
	}
	aps := make(map[string]any, 4)
	alert := make(map[string]any, 2)
	set(alert, "title", n.Title)
	set(alert, "body", n.Body)
	if len(alert) > 0 {
		aps["alert"] = alert
	}
	set(aps, "sound", n.Sound)
	if n.Badge != nil {
		aps["badge"] = *n.Badge
	}
	if n.Image != "" {
		aps["mutable-content"] = 1
	}
	if pushType == typeBackground {
		aps["content-available"] = 1
	}
	payload["aps"] = aps
	set(payload, "image", n.Image)
	set(payload, "click_url", n.ClickURL)
	return payload
}

// set sets a member unless its text is empty.
func set(object map[string]any, name, text string) {
	if text != "" {
		object[name] = text
	}
}

// encode returns JSON in which < > and & are not escaped, which is shorter.
func encode(payload map[string]any) ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if err := out.Encode(payload); err != nil {
		return nil, fmt.Errorf("encode the payload of a push: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// collapseID returns the apns-collapse-id: a push replaces one with the same id on the device.
// A key that is too long for the header, or no text for one, is replaced by a hash.
func collapseID(n notifier.Notification) string {
	id := n.CollapseKey
	if id == "" {
		id = n.IdempotencyKey
	}
	if len(id) <= maxCollapseID && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// pushID returns the apns-id, a UUID that is the same at every attempt to deliver a message to
// a device.
func pushID(idempotencyKey, device string) string {
	return uuid.NewSHA1(uuid.Nil, []byte(idempotencyKey+"\x00"+device)).String()
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
