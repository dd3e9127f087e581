package message

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// PushContent is what a message says for devices, besides its title, body and data. Its zero
// value says nothing. A channel that has no use for a field ignores it.
type PushContent struct {
	Image    string `json:"image,omitempty"`     // an https URL
	ClickURL string `json:"click_url,omitempty"` // what a click opens: a web page, or a place in the app
	Badge    *int   `json:"badge,omitempty"`     // the number at the app's icon; nil leaves it as it is
	Sound    string `json:"sound,omitempty"`     // a name of the app's
	Priority string `json:"priority,omitempty"`  // PriorityHigh or PriorityNormal; "" for the channel's own
	// CollapseKey makes the message replace a former one with the same key on the device.
	CollapseKey string `json:"collapse_key,omitempty"`
	// Channels has for each channel what only its provider knows, a JSON object in the
	// provider's own words.
	Channels map[string]json.RawMessage `json:"channels,omitempty"`
	To       *Target                    `json:"to,omitempty"` // nil for all of the user's devices
}

// Values of PushContent.Priority.
const (
	PriorityHigh   = "high"   // it may wake the device
	PriorityNormal = "normal" // it may wait until the device is used
)

// Target says which of its user's devices a message goes to: those that every field that is
// set names. The name of a channel without devices, such as webhook, is the whole channel.
type Target struct {
	Channel string `json:"channel,omitempty"` // such as "fcm"
	App     string `json:"app,omitempty"`
	Device  string `json:"device,omitempty"` // the id of one device
}

// DeviceChannels returns the names of the channels that have devices. They are the members
// that PushContent.Channels may have.
func DeviceChannels() []string { return []string{"fcm", "apns", "webpush"} }

// TargetChannels returns the names that Target.Channel may have.
func TargetChannels() []string { return append(DeviceChannels(), "webhook", "log", "service") }

// HasPushContent reports whether p says anything.
func (p PushContent) HasPushContent() bool {
	return p.Image != "" || p.ClickURL != "" || p.Badge != nil || p.Sound != "" || p.Priority != "" ||
		p.CollapseKey != "" || len(p.Channels) > 0 || p.To != nil
}

// NamedChannels returns the channels with devices that p names, in the order of
// DeviceChannels: the one that it goes to, and those that it has something to say to.
func (p PushContent) NamedChannels() []string {
	if len(p.Channels) == 0 && p.To == nil {
		return nil
	}
	return slices.DeleteFunc(DeviceChannels(), func(name string) bool {
		_, given := p.Channels[name]
		return !given && (p.To == nil || p.To.Channel != name)
	})
}

// canonical returns p with the one spelling that equal contents have.
func (p PushContent) canonical() PushContent {
	if len(p.Channels) == 0 {
		p.Channels = nil
		return p
	}
	p.Channels = maps.Clone(p.Channels)
	for name, override := range p.Channels {
		p.Channels[name] = canonicalJSON(override)
	}
	return p
}

// ParseBadge reads a PushContent.Badge. The error is a *fault.InvalidError.
func ParseBadge(text string) (*int, error) {
	badge, err := strconv.Atoi(text)
	if err != nil {
		return nil, refusedText("badge", text, wantBadge)
	}
	return &badge, nil
}

// ParseChannels reads PushContent.Channels from JSON. The error is a *fault.InvalidError.
func ParseChannels(text string) (map[string]json.RawMessage, error) {
	if err := CheckJSON([]byte(text), "channels"); err != nil {
		return nil, err
	}
	var channels map[string]json.RawMessage
	if !isObject([]byte(text)) {
		return nil, refusedText("channels", text, wantOverride)
	}
	if err := json.Unmarshal([]byte(text), &channels); err != nil {
		return nil, refusedText("channels", text, wantOverride)
	}
	return channels, nil
}
