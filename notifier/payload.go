package notifier

// TimeLayout is the layout of times in channels: RFC 3339 with milliseconds. The time must
// be in UTC.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Payload is a Notification in JSON. Optional fields that are empty are left out.
type Payload struct {
	ID          string            `json:"id"`
	User        string            `json:"user"`
	Category    string            `json:"category,omitempty"`
	Title       string            `json:"title,omitempty"`
	Body        string            `json:"body,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
	Campaign    string            `json:"campaign,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	SendAt      string            `json:"send_at"`                // in TimeLayout
	RequestedAt string            `json:"requested_at,omitempty"` // in TimeLayout
	Attempt     int               `json:"attempt"`
}

// NewPayload returns the payload of n. It shares n.Data and n.Metadata.
func NewPayload(n Notification) Payload {
	p := Payload{
		ID:       n.ID,
		User:     n.User,
		Category: n.Category,
		Title:    n.Title,
		Body:     n.Body,
		Data:     n.Data,
		Campaign: n.Campaign,
		Metadata: n.Metadata,
		SendAt:   n.SendAt.UTC().Format(TimeLayout),
		Attempt:  n.Attempt,
	}
	if !n.RequestedAt.IsZero() {
		p.RequestedAt = n.RequestedAt.UTC().Format(TimeLayout)
	}
	return p
}
