package message

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// PushContent is what a message has for devices besides title, body and data. The zero value has
// nothing. A channel ignores fields that it can't use.
type PushContent struct {
	Image       string                     `json:"image,omitempty" doc:"An https URL of an image to show, of at most 2,048 bytes."`
	ClickURL    string                     `json:"click_url,omitempty" doc:"The absolute URL that a click opens, of at most 2,048 bytes: a web page or a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed."`
	Badge       *int                       `json:"badge,omitempty" doc:"The number at the app's icon. By default it does not change."`
	Sound       string                     `json:"sound,omitempty" doc:"The name of a sound of the app's: at most 64 characters without control characters."`
	Priority    string                     `json:"priority,omitempty" doc:"high if it may wake the device, normal if it may wait until the device is used. By default the channel decides."`
	CollapseKey string                     `json:"collapse_key,omitempty" doc:"The message replaces an earlier one with the same key on the device: 1 to 64 printable ASCII characters."`
	Channels    map[string]json.RawMessage `json:"channels,omitempty" doc:"Additions for single channels, by the name of the channel: an object of at most 4,096 bytes in the provider's format. They are checked at submit, as is the size of the message for that channel."`
	To          *Target                    `json:"to,omitempty" doc:"The user's devices that receive it. By default all."`
}

// Values of PushContent.Priority.
const (
	PriorityHigh   = "high"   // it may wake the device
	PriorityNormal = "normal" // it may wait until the device is used
)

// Target selects devices of the user: those that match every field that is set. The name of a
// channel without devices, such as webhook, selects the whole channel.
type Target struct {
	Channel string `json:"channel,omitempty" doc:"The channel of the devices, or a channel without devices as a whole."`
	App     string `json:"app,omitempty" doc:"The app of the devices."`
	Device  string `json:"device,omitempty" doc:"The id of one device."`
}

// DeviceChannels returns the names of the channels with devices, the members of
// PushContent.Channels.
func DeviceChannels() []string { return []string{"fcm", "apns", "webpush"} }

// TargetChannels returns the allowed values of Target.Channel.
func TargetChannels() []string { return append(DeviceChannels(), "webhook", "log", "service") }

// HasPushContent reports whether any field is set.
func (p PushContent) HasPushContent() bool {
	return p.Image != "" || p.ClickURL != "" || p.Badge != nil || p.Sound != "" || p.Priority != "" ||
		p.CollapseKey != "" || len(p.Channels) > 0 || p.To != nil
}

// NamedChannels returns the channels with devices in To or Channels, in the order of
// DeviceChannels.
func (p PushContent) NamedChannels() []string {
	if len(p.Channels) == 0 && p.To == nil {
		return nil
	}
	return slices.DeleteFunc(DeviceChannels(), func(name string) bool {
		_, given := p.Channels[name]
		return !given && (p.To == nil || p.To.Channel != name)
	})
}

// canonical returns p in the one spelling of equal contents.
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
	if !isObject([]byte(text)) || json.Unmarshal([]byte(text), &channels) != nil {
		return nil, refusedText("channels", text, wantOverride)
	}
	return channels, nil
}
