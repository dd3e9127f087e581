package message

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Bounds of PushContent.
const (
	MaxURL         = 2048          // bytes of an image or a click_url
	MaxBadge       = math.MaxInt32 // the largest number at an icon
	MaxSound       = 64            // characters
	MaxCollapseKey = 64            // bytes
	MaxOverride    = 4096          // bytes of the additions for a channel, without white space between members
	MaxTargetID    = 64            // bytes of an app or the id of a device
)

// Allowed values of the fields of PushContent, for errors.
const (
	wantImage       = "an https URL of at most 2048 bytes"
	wantClickURL    = "an absolute URL of at most 2048 bytes, such as https://example.com/ or myapp://orders/17, and not javascript:, data: or file:"
	wantBadge       = "a whole number from 0 to 2147483647"
	wantSound       = "1 to 64 characters without control characters"
	wantPriority    = "high or normal"
	wantCollapseKey = "1 to 64 printable ASCII characters"
	wantOverride    = "a JSON object"
	wantTargetID    = "1 to 64 of A-Z a-z 0-9 . _ -"
)

func (p PushContent) validate(wrong *fault.InvalidErrors) {
	if !p.HasPushContent() {
		return
	}
	if p.Image != "" && !validImage(p.Image) {
		wrong.Add(refusedText("image", p.Image, wantImage))
	}
	if p.ClickURL != "" && !validClickURL(p.ClickURL) {
		wrong.Add(refusedText("click_url", p.ClickURL, wantClickURL))
	}
	if p.Badge != nil && (*p.Badge < 0 || *p.Badge > MaxBadge) {
		wrong.Add(refusedText("badge", strconv.Itoa(*p.Badge), wantBadge))
	}
	if !utf8.ValidString(p.Sound) || utf8.RuneCountInString(p.Sound) > MaxSound || strings.IndexFunc(p.Sound, unicode.IsControl) >= 0 {
		wrong.Add(refusedText("sound", p.Sound, wantSound))
	}
	switch p.Priority {
	case "", PriorityHigh, PriorityNormal:
	default:
		wrong.Add(refusedText("priority", p.Priority, wantPriority))
	}
	if len(p.CollapseKey) > MaxCollapseKey || strings.IndexFunc(p.CollapseKey, notPrintable) >= 0 {
		wrong.Add(refusedText("collapse_key", p.CollapseKey, wantCollapseKey))
	}
	p.validateChannels(wrong)
	if p.To != nil {
		p.To.validate(wrong)
	}
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

func validImage(text string) bool {
	image, ok := parseURL(text)
	return ok && image.Scheme == "https" && image.Hostname() != ""
}

func validClickURL(text string) bool {
	link, ok := parseURL(text)
	if !ok || link.Scheme == "" || len(text) == len(link.Scheme)+len(":") {
		return false
	}
	switch link.Scheme {
	case "javascript", "data", "file":
		return false
	case "http", "https":
		return link.Hostname() != ""
	default:
		return true
	}
}

// parseURL reads a URL. It refuses one that is too long, and characters that programs omit or read
// differently: spaces, control characters and backslashes.
func parseURL(text string) (*url.URL, bool) {
	if len(text) > MaxURL || !utf8.ValidString(text) {
		return nil, false
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' }
	if strings.IndexFunc(text, odd) >= 0 {
		return nil, false
	}
	parsed, err := url.Parse(text)
	return parsed, err == nil
}

func (p PushContent) validateChannels(wrong *fault.InvalidErrors) {
	for _, name := range sortedKeys(p.Channels) {
		field := fault.Clip("channels." + strings.ToValidUTF8(name, "�"))
		switch override := jsontext.Value(p.Channels[name]); {
		case !slices.Contains(DeviceChannels(), name):
			wrong.Add(unknownChannel(name))
		case !override.IsValid():
			wrong.Add(fault.Wrong(field, "%s is no JSON that every reader understands in the same way", field))
		case override.Kind() != '{':
			wrong.Add(refusedText(field, string(override), wantOverride))
		default:
			if size := len(canonicalJSON(p.Channels[name])); size > MaxOverride {
				wrong.Add(fault.Wrong(field, "%s is %d bytes: the limit is %d", field, size, MaxOverride))
			}
		}
	}
}

func unknownChannel(name string) *fault.InvalidError {
	return unknownField(fault.Clip("channels."+strings.ToValidUTF8(name, "�")), ": there are "+strings.Join(DeviceChannels(), ", "))
}

func (t Target) validate(wrong *fault.InvalidErrors) {
	if t == (Target{}) {
		wrong.Add(fault.Wrong("to", "to is empty: it needs at least one of channel, app and device"))
		return
	}
	if t.Channel != "" && !slices.Contains(TargetChannels(), t.Channel) {
		wrong.Add(refusedText("to.channel", t.Channel, strings.Join(TargetChannels(), ", ")))
	}
	for _, id := range []struct{ field, text string }{{"to.app", t.App}, {"to.device", t.Device}} {
		if len(id.text) > MaxTargetID || strings.Trim(id.text, targetIDs) != "" {
			wrong.Add(refusedText(id.field, id.text, wantTargetID))
		}
	}
}

// targetIDs are the characters of an app and of a device's id.
const targetIDs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func refusedText(field, value, want string) *fault.InvalidError {
	return &fault.InvalidError{Field: field, Value: strings.ToValidUTF8(value, "�"), Want: want}
}

// canonicalJSON returns the one spelling of a JSON value: sorted members, and no white space
// between them. It returns text that is no JSON unchanged.
func canonicalJSON(text json.RawMessage) json.RawMessage {
	value := jsontext.Value(slices.Clone(text))
	// Numbers stay as they are: a provider may read more digits than a float64 has.
	err := value.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return text
	}
	return json.RawMessage(value)
}

// addTo adds the parts of a fingerprint. A message without PushContent adds none, so that its
// fingerprint is that of releases before PushContent.
func (p PushContent) addTo(add func(part string)) {
	if !p.HasPushContent() {
		return
	}
	parts := p.Parts()
	// No user is empty, and no campaign has a space.
	add("")
	add("push content")
	add(strconv.Itoa(len(parts)))
	for _, part := range parts {
		add(part.Name)
		add(part.Value)
	}
}

// Part is a field of a PushContent, or a member of one that is an object.
type Part struct{ Name, Value string }

// Parts returns the fields that are set, such as to.app. They are part of fingerprints: neither
// their order nor their names may change.
func (p PushContent) Parts() []Part {
	if !p.HasPushContent() {
		return nil
	}
	all := []Part{
		{"image", p.Image},
		{"click_url", p.ClickURL},
		{"sound", p.Sound},
		{"priority", p.Priority},
		{"collapse_key", p.CollapseKey},
	}
	if p.Badge != nil {
		all = append(all, Part{"badge", strconv.Itoa(*p.Badge)})
	}
	for _, name := range sortedKeys(p.Channels) {
		all = append(all, Part{"channels." + name, string(canonicalJSON(p.Channels[name]))})
	}
	if p.To != nil {
		all = append(all, Part{"to.channel", p.To.Channel}, Part{"to.app", p.To.App}, Part{"to.device", p.To.Device})
	}
	return slices.DeleteFunc(all, func(part Part) bool { return part.Value == "" })
}
