package message

import (
	"encoding/json"
	"fmt"
)

// Content is the part of a message that its record holds until the message ends. A dead
// letter still has it.
type Content struct {
	Title string            `json:"title,omitempty"`
	Body  string            `json:"body,omitempty"`
	Data  map[string]string `json:"data,omitempty"`

	Image       string                     `json:"image,omitempty"`
	ClickURL    string                     `json:"click_url,omitempty"`
	Badge       *int                       `json:"badge,omitempty"`
	Sound       string                     `json:"sound,omitempty"`
	Priority    string                     `json:"priority,omitempty"`
	CollapseKey string                     `json:"collapse_key,omitempty"`
	Channels    map[string]json.RawMessage `json:"channels,omitempty"`
	To          *Target                    `json:"to,omitempty"`
}

// Target says which of its user's devices a message goes to: those that every field that is
// set names. The name of a channel without devices, such as webhook, is the whole channel.
type Target struct {
	Channel string `json:"channel,omitempty"` // such as "fcm"
	App     string `json:"app,omitempty"`
	Device  string `json:"device,omitempty"` // the id of one device
}

// EncodeContent returns the content of a message for its record.
func EncodeContent(m Message) ([]byte, error) {
	text, err := json.Marshal(Content{Title: m.Title, Body: m.Body, Data: m.Data})
	if err != nil {
		return nil, fmt.Errorf("content of a message: %w", err)
	}
	return text, nil
}

// DecodeContent reads what EncodeContent returned.
func DecodeContent(text []byte) (Content, error) {
	var c Content
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("content of a message: %w", err)
	}
	return c, nil
}
