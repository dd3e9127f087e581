package notifier

import "github.com/sendlimit/sendlimiter/notifier/payload"

// TimeLayout is the layout of times in channels: RFC 3339 in UTC with milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Payload is a Notification in a webhook's JSON. Its times are in TimeLayout.
type Payload = payload.Payload

// NewPayload returns the payload of n. It shares n.Data, n.Badge and n.Metadata.
func NewPayload(n Notification) Payload {
	p := Payload{
		ID:          n.ID,
		User:        n.User,
		Category:    n.Category,
		Title:       n.Title,
		Body:        n.Body,
		Data:        n.Data,
		Image:       n.Image,
		ClickURL:    n.ClickURL,
		Badge:       n.Badge,
		Sound:       n.Sound,
		Priority:    string(n.Priority),
		CollapseKey: n.CollapseKey,
		Campaign:    n.Campaign,
		Metadata:    n.Metadata,
		SendAt:      n.SendAt.UTC().Format(TimeLayout),
		Attempt:     n.Attempt,
	}
	if !n.RequestedAt.IsZero() {
		p.RequestedAt = n.RequestedAt.UTC().Format(TimeLayout)
	}
	return p
}
