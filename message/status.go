package message

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Status says what became of a message. A field that does not apply is empty.
type Status struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Status string `json:"status"` // see the constants; empty if the message has a place and nothing more is known
	// SendAt is the send time, to come or past. The others are set where they differ
	// from it: RequestedAt is the time that the caller asked for, PromisedAt the send
	// time before the message was postponed or sent late, MovedFrom the one before
	// the last move.
	SendAt      Time `json:"send_at"`
	RequestedAt Time `json:"requested_at,omitzero"`
	PromisedAt  Time `json:"promised_at,omitzero"`
	MovedFrom   Time `json:"moved_from,omitzero"`
	Shifted     bool `json:"shifted,omitempty"`
	ExpiresAt   Time `json:"expires_at,omitzero"` // what the caller set

	// Set for a delivered message: when its delivery began, how late that was, and
	// the provider's id for it.
	DeliveredAt Time   `json:"delivered_at,omitzero"`
	LatenessMS  *int64 `json:"lateness_ms,omitempty"`
	ProviderID  string `json:"provider_id,omitempty"`

	EndedAt   Time `json:"ended_at,omitzero"`    // of a message that ended without being delivered
	NextTryAt Time `json:"next_try_at,omitzero"` // of a message that failed, or that waits for its paused campaign or for other rules
	Attempts  int  `json:"attempts,omitempty"`   // deliveries tried, including one that is running
	// Reason says why the message was dropped, given up, postponed or is tried again:
	// a word such as expired or unavailable. Of a postponed message it also says what
	// was in the way: "late: 1/minute was in the way", "late: marketing 2/calendar_day
	// was in the way" or "late: quiet hours were in the way". Of a message that is
	// being sent or was delivered it says why it was not sent before.
	Reason string `json:"reason,omitempty"`
	// ProviderSaid is what the provider said of a message that was given up.
	ProviderSaid string `json:"provider_said,omitempty"`
	// Uncertain reports whether an earlier delivery may have arrived: the user may
	// have received the message, or received it twice.
	Uncertain bool   `json:"uncertain,omitempty"`
	Category  string `json:"category,omitempty"`
	// Campaign and Metadata are what the caller gave. They stay after the end.
	Campaign string            `json:"campaign,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Account is the account that was charged; empty without accounts.
	Account string `json:"account,omitempty"`
	// Devices lists the devices that the message is done with: those of its user, and the
	// channels without devices, whose id is @ and their name.
	Devices []DeviceStatus `json:"devices,omitempty"`
	// History has the last changes of the message, at most 16, oldest first. It is set where
	// one message is read.
	History []HistoryEntry `json:"history,omitempty"`

	// Content is set where one message is read. Lists have at most the titles. It is empty once
	// the message ended, except as a dead letter.
	Content
}

// DeviceStatus says what became of a message on one device.
type DeviceStatus struct {
	Device string `json:"device"`
	State  string `json:"state"` // see the constants
}

// Values of DeviceStatus.State.
const (
	DeviceDelivered = "delivered"
	DeviceGone      = "gone"      // its provider knows it no more
	DeviceFailed    = "failed"    // its provider does not accept the message
	DeviceUncertain = "uncertain" // the message may have arrived there
)

// DeviceStates returns the values of DeviceStatus.State.
func DeviceStates() []string {
	return []string{DeviceDelivered, DeviceGone, DeviceFailed, DeviceUncertain}
}

// Values of Status.Status. A message still to be sent is postponed if it was postponed
// since its last move, else moved if it was moved, else scheduled.
const (
	StatusScheduled = "scheduled"
	StatusPostponed = "postponed" // it was late and the rules had no room: from PromisedAt to SendAt
	StatusMoved     = "moved"     // from MovedFrom to SendAt
	StatusSending   = "sending"   // a worker has it
	StatusDelivered = "delivered"
	StatusDropped   = "dropped" // not sent: Reason
	StatusFailed    = "failed"  // given up after its last attempt
	StatusUncertain = "uncertain"
	StatusCancelled = "cancelled"
)

// NotFound returns the outcome for an id that no known message has.
func NotFound(id string) Outcome {
	return Outcome{
		Outcome: Refused, Code: fault.CodeNotFound, ID: id,
		Detail: fmt.Sprintf("nothing is known of a message %s: it was never accepted, or ended too long ago", id),
	}
}

// NoStatus returns the outcome for a message of which nothing is known.
func NoStatus(user, id string) Outcome {
	return Outcome{
		Outcome: Refused, Code: fault.CodeNotFound, User: user, ID: id,
		Detail: fmt.Sprintf("nothing is known of message %s to %s: it was never accepted, or ended too long ago", id, user),
	}
}

// LatePrefix begins the Reason of a message that was late because a rule or quiet
// hours were in the way. Where nothing is known to have been in the way, Reason is
// only "late".
const (
	LatePrefix = reasonLate + ": "
	reasonLate = "late"
)

// LateReason returns the Reason of a late message.
func LateReason(late policy.Late) string {
	switch {
	case late.QuietHours:
		return LatePrefix + "quiet hours were in the way"
	case late.InTheWay == (policy.Rule{}):
		return reasonLate
	}
	return LatePrefix + RuleName(late.Category, late.InTheWay) + " was in the way"
}

// Failures returns how many deliveries failed: those tried, without one that is running
// and one that succeeded.
func (s Status) Failures() int {
	if s.Status == StatusSending || s.Status == StatusDelivered {
		return max(0, s.Attempts-1)
	}
	return s.Attempts
}

// Late reports whether Reason says that the message was late, rather than that a
// delivery failed. It returns what was in the way; "" if that is not known.
func (s Status) Late() (why string, late bool) {
	why, late = strings.CutPrefix(s.Reason, LatePrefix)
	if late {
		return why, true
	}
	return "", s.Reason == reasonLate
}
