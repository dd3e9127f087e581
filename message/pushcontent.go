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
	Image       string                     `json:"image,omitempty" doc:"An https URL of an image to show, of at most 2,048 bytes."`
	ClickURL    string                     `json:"click_url,omitempty" doc:"What a click opens: an absolute URL of at most 2,048 bytes, of a web page or of a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed."`
	Badge       *int                       `json:"badge,omitempty" doc:"The number at the app's icon. By default it stays as it is."`
	Sound       string                     `json:"sound,omitempty" doc:"The name of a sound of the app's: at most 64 characters without control characters."`
	Priority    string                     `json:"priority,omitempty" doc:"high if it may wake the device, normal if it may wait until the device is used. By default what the channel does."`
	CollapseKey string                     `json:"collapse_key,omitempty" doc:"It replaces a former message with the same key on the device: 1 to 64 printable ASCII characters."`
	Channels    map[string]json.RawMessage `json:"channels,omitempty" doc:"What is for one channel alone, by the name of the channel: an object of at most 4,096 bytes in the words of its provider. It is checked when the message is submitted, as is the size of the message for that channel."`
	To          *Target                    `json:"to,omitempty" doc:"Which of the user's devices it goes to. By default all."`
}

// Values of PushContent.Priority.
const (
	PriorityHigh   = "high"   // it may wake the device
	PriorityNormal = "normal" // it may wait until the device is used
)

// Target says which of its user's devices a message goes to: those that every field that is
// set names. The name of a channel without devices, such as webhook, is the whole channel.
type Target struct {
	Channel string `json:"channel,omitempty" doc:"The channel of the devices, or a channel without devices as a whole."`
	App     string `json:"app,omitempty" doc:"The app of the devices."`
	Device  string `json:"device,omitempty" doc:"The id of one device."`
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
