package callbacks

import (
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// EventOf returns an event of the log of an account, or of keyspace.Everyone, as a CloudEvent.
func EventOf(log string, e events.Event) message.Event {
	source := "/v1/events"
	if log != keyspace.Everyone {
		source = "/v1/accounts/" + log + "/events"
	}
	window, requested := message.DecodeWindow(e.Asked), e.RequestedAt
	if window != nil || requested.Equal(e.SendAt) {
		requested = time.Time{}
	}
	return message.Event{
		SpecVersion: "1.0", ID: e.ID, Source: source, Type: message.EventPrefix + string(e.Type),
		Subject: e.MessageID, Time: message.Time{Time: e.At}, DataContentType: "application/json",
		Data: message.EventData{
			Account: e.Account, User: e.User, ID: e.MessageID,
			SendAt: message.Time{Time: e.SendAt}, FormerSendAt: message.Time{Time: e.FormerSendAt},
			RequestedAt: message.Time{Time: requested}, Local: message.DecodeLocal(e.Asked), Window: window,
			Reason: message.EventReason(e.Reason), Attempt: e.Attempt, ProviderID: e.ProviderID, Campaign: e.Campaign,
			Metadata: message.DecodeMetadata(e.Metadata),
		},
	}
}

// EventsOf is EventOf for several events.
func EventsOf(log string, all []events.Event) []message.Event {
	list := make([]message.Event, len(all))
	for i, e := range all {
		list[i] = EventOf(log, e)
	}
	return list
}
