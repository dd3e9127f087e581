package userdata

import (
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Event is a change of a message.
type Event struct {
	Type         string            `json:"type"`
	ID           string            `json:"id"` // of the message
	Account      string            `json:"account,omitempty"`
	At           message.Time      `json:"at"`
	SendAt       message.Time      `json:"send_at"`
	FormerSendAt message.Time      `json:"former_send_at,omitzero"`
	Reason       string            `json:"reason,omitempty"`
	Attempt      int               `json:"attempt,omitempty"`
	ProviderID   string            `json:"provider_id,omitempty"`
	Campaign     string            `json:"campaign,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
}

func eventsOf(found []events.Event) []Event {
	var all []Event
	for _, e := range found {
		all = append(all, Event{
			Type: string(e.Type), ID: e.MessageID, Account: e.Account, At: message.Time{Time: e.At},
			SendAt: message.Time{Time: e.SendAt}, FormerSendAt: message.Time{Time: e.FormerSendAt}, Reason: message.EventReason(e.Reason),
			Attempt: e.Attempt, ProviderID: e.ProviderID, Campaign: e.Campaign, Metadata: message.DecodeMetadata(e.Metadata),
		})
	}
	return all
}
