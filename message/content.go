package message

import (
	"encoding/json"
	"fmt"
)

// Content is the part of a message that its record keeps until the message ends. Dead letters keep
// it, too.
type Content struct {
	Title string            `json:"title,omitempty" doc:"Its title; absent in lists, after it was erased, and for keys without access."`
	Body  string            `json:"body,omitempty" doc:"Its body; absent for the same reasons as title."`
	Data  map[string]string `json:"data,omitempty" doc:"Its data; absent for the same reasons as title."`

	PushContent
}

// HasContent reports whether any field is set.
func (c Content) HasContent() bool {
	return c.Title != "" || c.Body != "" || len(c.Data) > 0 || c.HasPushContent()
}

// EncodeContent returns the content of a message for its record.
func EncodeContent(m Message) ([]byte, error) {
	text, err := json.Marshal(Content{Title: m.Title, Body: m.Body, Data: m.Data, PushContent: m.canonical()})
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
