package message

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Status describes a message. A field that does not apply is empty.
type Status struct {
	ID          string          `json:"id" doc:"The message's id."`
	User        string          `json:"user" doc:"The user's name."`
	Status      string          `json:"status" doc:"The state of the message."`
	SendAt      Time            `json:"send_at" doc:"The send time."`
	RequestedAt Time            `json:"requested_at,omitzero" doc:"The send time that was requested, if it differs from send_at."`
	Local       *ResolvedLocal  `json:"local,omitempty" doc:"How the send time was read, if it was last asked for as a local time."`
	Window      *ResolvedWindow `json:"window,omitempty" doc:"The window that the submit asked for; absent after a move."`
	PromisedAt  Time            `json:"promised_at,omitzero" doc:"The send time before the message was postponed or sent late, if it differs from send_at."`
	MovedFrom   Time            `json:"moved_from,omitzero" doc:"The send time before the last move."`
	Shifted     bool            `json:"shifted,omitempty" doc:"The message got the next free time instead of the requested one."`
	ExpiresAt   Time            `json:"expires_at,omitzero" doc:"A message that is not sent by then is dropped."`

	DeliveredAt Time   `json:"delivered_at,omitzero" doc:"When its delivery began."`
	LatenessMS  *int64 `json:"lateness_ms,omitempty" doc:"Milliseconds from the promised time to delivered_at."`
	ProviderID  string `json:"provider_id,omitempty" doc:"The provider's id of the message."`

	EndedAt      Time              `json:"ended_at,omitzero" doc:"When the message ended without being delivered."`
	NextTryAt    Time              `json:"next_try_at,omitzero" doc:"When a failed delivery is retried; or when a message is checked again that waits for its paused campaign, for a dated change of its policy, or for a free time because it may have arrived."`
	Attempts     int               `json:"attempts,omitempty" doc:"The number of delivery attempts."`
	Reason       string            `json:"reason,omitempty" doc:"Why the message was dropped, given up or postponed, or why it is retried. For a postponed message it has the rule: late: 1/minute was in the way. For a dropped one it is expired, no_free_time, blocked, opted_out or no_device. For a delivered one it says why other devices were given up."`
	ProviderSaid string            `json:"provider_said,omitempty" doc:"The provider's answer to a message that was given up."`
	Uncertain    bool              `json:"uncertain,omitempty" doc:"Whether an earlier attempt may have arrived."`
	Category     string            `json:"category,omitempty" doc:"Its category."`
	Campaign     string            `json:"campaign,omitempty" doc:"Its campaign."`
	Metadata     map[string]string `json:"metadata,omitempty" doc:"Its metadata."`
	Account      string            `json:"account,omitempty" doc:"The account that is charged for the message; absent without accounts."`
	Devices      []DeviceStatus    `json:"devices,omitempty" doc:"The devices for which the message has ended; absent before."`
	History      []HistoryEntry    `json:"history,omitempty" doc:"The last changes of the message, including its accept and its end, at most 16, oldest first; absent in lists. A running delivery is not a change."`

	// Content is set for a single message. Lists have at most titles. It is empty after the
	// message has ended, except in a dead letter.
	Content
}

// DeviceStatus is the state of a message on one device.
type DeviceStatus struct {
	Device string `json:"device" doc:"The id of the device; @ and its name for a channel without devices."`
	State  string `json:"state" doc:"The state of the message there: delivered; gone, because the provider no longer knows the device; failed, because the provider does not accept the message; or uncertain."`
}

// Values of DeviceStatus.State.
const (
	DeviceDelivered = "delivered"
	DeviceGone      = "gone"      // its provider no longer knows it
	DeviceFailed    = "failed"    // its provider does not accept the message
	DeviceUncertain = "uncertain" // the message may have arrived there
)

// DeviceStates returns the values of DeviceStatus.State.
func DeviceStates() []string {
	return []string{DeviceDelivered, DeviceGone, DeviceFailed, DeviceUncertain}
}

// Values of Status.Status. A message still to be sent is postponed if it was postponed since its
// last move, otherwise moved if it was moved, otherwise scheduled.
const (
	StatusScheduled = "scheduled"
	StatusPostponed = "postponed" // it was late and its time was not free: from PromisedAt to SendAt
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

// LatePrefix begins the Reason of a message that was late because a rule, quiet hours or a
// do-not-disturb were in the way. If the cause is unknown, Reason is "late".
const (
	LatePrefix = reasonLate + ": "
	reasonLate = "late"
)

// LateReason returns the Reason of a late message.
func LateReason(late policy.Late) string {
	switch {
	case late.QuietHours:
		return LatePrefix + "quiet hours were in the way"
	case late.DoNotDisturb:
		return LatePrefix + "do-not-disturb was in the way"
	case late.InTheWay == (policy.Rule{}):
		return reasonLate
	}
	return LatePrefix + RuleName(late.Category, late.InTheWay) + " was in the way"
}

// Failures returns the number of failed deliveries, without a running or successful one.
func (s Status) Failures() int {
	if s.Status == StatusSending || s.Status == StatusDelivered {
		return max(0, s.Attempts-1)
	}
	return s.Attempts
}

// Late reports whether Reason says that the message was late, not that a delivery failed. why is
// what was in the way; "" if unknown.
func (s Status) Late() (why string, late bool) {
	why, late = strings.CutPrefix(s.Reason, LatePrefix)
	if late {
		return why, true
	}
	return "", s.Reason == reasonLate
}
