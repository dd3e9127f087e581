// Package payload says what a webhook gets of a message. It has only values: packages that
// document the webhook need not know who delivers.
package payload

// Payload is a message in JSON. Optional fields that are empty are left out. Times are RFC 3339
// in UTC, with milliseconds.
type Payload struct {
	ID          string            `json:"id"`
	User        string            `json:"user"`
	Category    string            `json:"category,omitempty"`
	Title       string            `json:"title,omitempty"`
	Body        string            `json:"body,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
	Image       string            `json:"image,omitempty"`
	ClickURL    string            `json:"click_url,omitempty"`
	Badge       *int              `json:"badge,omitempty"`
	Sound       string            `json:"sound,omitempty"`
	Priority    string            `json:"priority,omitempty"`
	CollapseKey string            `json:"collapse_key,omitempty"`
	Campaign    string            `json:"campaign,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	SendAt      string            `json:"send_at"`
	RequestedAt string            `json:"requested_at,omitempty"`
	Attempt     int               `json:"attempt"`
}
