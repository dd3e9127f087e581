package submit

import (
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// StatusOf returns the status of a message for callers.
func StatusOf(s messages.Info) message.Status {
	status := message.Status{
		ID: s.ID, User: s.User, Status: s.Status(), SendAt: message.Time{Time: s.SendAt}, RequestedAt: message.Time{Time: s.RequestedAt},
		PromisedAt: message.Time{Time: s.Promised}, MovedFrom: message.Time{Time: s.MovedFrom}, Shifted: s.Shifted, ExpiresAt: message.Time{Time: s.ExpiresAt},
		ProviderID: s.ProviderID, ProviderSaid: s.Words, NextTryAt: message.Time{Time: s.NotBefore}, Attempts: s.Attempts, Category: s.Category,
		Reason: reasonOf(s), Uncertain: s.Uncertain, Account: s.Account, Campaign: s.Campaign, Local: message.DecodeLocal(s.Local), Window: message.DecodeWindow(s.Local), Metadata: message.DecodeMetadata(s.Metadata),
	}
	if status.Window != nil { // its search began there
		status.RequestedAt, status.Shifted = message.Time{}, false
	}
	if s.State == messages.StateDelivered {
		late := int64(s.Lateness / time.Millisecond)
		status.DeliveredAt, status.LatenessMS = message.Time{Time: s.EndedAt}, &late
	} else {
		status.EndedAt = message.Time{Time: s.EndedAt}
	}
	for _, done := range s.Progress {
		status.Devices = append(status.Devices, message.DeviceStatus{Device: done.Device, State: done.State.String()})
	}
	for _, c := range s.History {
		status.History = append(status.History, historyEntryOf(c))
	}
	sayAsked(&status)
	if s.State == messages.StatePending && s.Reason == messages.ReasonPaused {
		status.NextTryAt = message.Time{} // it is only looked at then
	}
	return status
}

func historyEntryOf(c messages.Change) message.HistoryEntry {
	return message.HistoryEntry{
		At: message.Time{Time: c.At}, Change: c.What, SendAt: message.Time{Time: c.SendAt},
		FormerSendAt: message.Time{Time: c.FormerSendAt}, Until: message.Time{Time: c.Until}, Attempt: c.Attempt,
		Reason: reasonOf(messages.Info{
			Reason: c.Reason, InTheWay: c.InTheWay, InTheWayCategory: c.InTheWayCategory, InQuietHours: c.InQuietHours, DoNotDisturb: c.DoNotDisturb,
		}),
	}
}

// sayAsked gives the last change that asked for the present send time its local time or window.
func sayAsked(s *message.Status) {
	for i := range slices.Backward(s.History) {
		switch c := &s.History[i]; c.Change {
		case message.ChangeMoved:
			if c.Reason == messages.ReasonSettings {
				continue // the message kept what was asked
			}
		case message.ChangeChanged:
			if !strings.Contains(c.Reason, sendlimit.EditZone) { // no other change reads the local time anew
				continue
			}
		case message.ChangeAccepted, message.ChangeReplaced:
		default:
			continue
		}
		s.History[i].Local, s.History[i].Window = s.Local, s.Window
		return
	}
}

// StoredStatus returns the status of a message with its content. The error is about a
// content that can't be read.
func StoredStatus(s messages.Stored) (message.Status, error) {
	status := StatusOf(s.Info)
	if len(s.Content) == 0 {
		return status, nil
	}
	var err error
	status.Content, err = message.DecodeContent(s.Content)
	return status, err
}

func reasonOf(s messages.Info) string {
	if s.Reason != messages.ReasonLate {
		return s.Reason
	}
	return message.LateReason(policy.Late{InTheWay: s.InTheWay, Category: s.InTheWayCategory, QuietHours: s.InQuietHours, DoNotDisturb: s.DoNotDisturb})
}
