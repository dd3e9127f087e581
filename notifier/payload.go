package notifier

// TimeLayout is how channels write a time, which must be in UTC: RFC 3339 with
// milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Payload is a Notification as channels that speak JSON of our own shape write
// it. Optional fields that are absent are left out.
type Payload struct {
	ID          string            `json:"id"`
	User        string            `json:"user"`
	Category    string            `json:"category,omitempty"`
	Title       string            `json:"title,omitempty"`
	Body        string            `json:"body,omitempty"`
	Data        map[string]string `json:"data,omitempty"`
	SendAt      string            `json:"send_at"`                // in TimeLayout
	RequestedAt string            `json:"requested_at,omitempty"` // in TimeLayout
	Attempt     int               `json:"attempt"`
}

// NewPayload returns n's payload. It shares n's Data.
func NewPayload(n Notification) Payload {
	p := Payload{
		ID:       n.ID,
		User:     n.User,
		Category: n.Category,
		Title:    n.Title,
		Body:     n.Body,
		Data:     n.Data,
		SendAt:   n.SendAt.UTC().Format(TimeLayout),
		Attempt:  n.Attempt,
	}
	if !n.RequestedAt.IsZero() {
		p.RequestedAt = n.RequestedAt.UTC().Format(TimeLayout)
	}
	return p
}
