package message

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Status says what became of a message. A field that does not apply is empty.
type Status struct {
	ID          string `json:"id" doc:"The message's id."`
	User        string `json:"user" doc:"The user's name."`
	Status      string `json:"status" doc:"What became of the message."`
	SendAt      Time   `json:"send_at" doc:"The send time."`
	RequestedAt Time   `json:"requested_at,omitzero" doc:"The send time that was requested, if it differs from send_at."`
	PromisedAt  Time   `json:"promised_at,omitzero" doc:"The send time before the message was postponed or sent late, if it differs from send_at."`
	MovedFrom   Time   `json:"moved_from,omitzero" doc:"The send time before the last move."`
	Shifted     bool   `json:"shifted,omitempty" doc:"The message got the next free time instead of the requested one."`
	ExpiresAt   Time   `json:"expires_at,omitzero" doc:"A message that is still not sent then is dropped."`

	DeliveredAt Time   `json:"delivered_at,omitzero" doc:"When its delivery began."`
	LatenessMS  *int64 `json:"lateness_ms,omitempty" doc:"Milliseconds from the promised time to delivered_at."`
	ProviderID  string `json:"provider_id,omitempty" doc:"The provider's id of the message."`

	EndedAt      Time              `json:"ended_at,omitzero" doc:"When the message ended without being delivered."`
	NextTryAt    Time              `json:"next_try_at,omitzero" doc:"When a failed delivery is tried again, or a message that waits for its paused campaign or for a dated change of its policy, or that may have arrived and waits for a free time, is looked at."`
	Attempts     int               `json:"attempts,omitempty" doc:"The number of delivery attempts."`
	Reason       string            `json:"reason,omitempty" doc:"Why the message was dropped, given up or postponed, or why it is tried again. Of a postponed one it says what was in the way: late: 1/minute was in the way. One was dropped as expired, no_free_time, opted_out or no_device. One that was delivered was given up on other devices for that reason."`
	ProviderSaid string            `json:"provider_said,omitempty" doc:"What the provider said of a message that was given up."`
	Uncertain    bool              `json:"uncertain,omitempty" doc:"Whether an earlier attempt may have arrived."`
	Category     string            `json:"category,omitempty" doc:"Its category."`
	Campaign     string            `json:"campaign,omitempty" doc:"Its campaign."`
	Metadata     map[string]string `json:"metadata,omitempty" doc:"Its metadata."`
	Account      string            `json:"account,omitempty" doc:"The account that is charged for the message; absent without accounts."`
	Devices      []DeviceStatus    `json:"devices,omitempty" doc:"The devices that the message is done with; absent before."`
	History      []HistoryEntry    `json:"history,omitempty" doc:"The last changes of the message, its accept and its end among them, at most 16, oldest first; absent in lists. A delivery that is running is no change yet."`

	// Content is set where one message is read. Lists have at most the titles. It is empty once
	// the message ended, except as a dead letter.
	Content
}

// DeviceStatus says what became of a message on one device.
type DeviceStatus struct {
	Device string `json:"device" doc:"The id of the device; @ and its name for a channel without devices."`
	State  string `json:"state" doc:"What became of the message there: delivered; gone, as its provider knows it no more; failed, as its provider does not accept the message; or uncertain."`
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

// NotFound returns the outcome for an unknown message, whoever its user is.
func NotFound(id string) Outcome {
	return Outcome{
		Outcome: Refused, Code: fault.CodeNotFound, ID: id,
		Detail: fmt.Sprintf("no message %q: it was never accepted, or ended too long ago", id),
	}
}

// NoStatus returns the outcome for an unknown message of a user.
func NoStatus(user, id string) Outcome {
	return Outcome{
		Outcome: Refused, Code: fault.CodeNotFound, User: user, ID: id,
		Detail: fmt.Sprintf("no message %q of user %q: it was never accepted, or ended too long ago", id, user),
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
