package message

import (
	"fmt"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Status is what became of a message, as every surface spells it. Fields that
// say nothing are absent.
type Status struct {
	ID     string `json:"id"`
	User   string `json:"user"`
	Status string `json:"status"` // see the constants
	// SendAt is the send time: to come, or the last one there was. RequestedAt
	// is what the caller asked for, PromisedAt what it was before the message
	// was postponed or sent late, MovedFrom what it was before the last move,
	// each where it differs.
	SendAt      Time `json:"send_at"`
	RequestedAt Time `json:"requested_at,omitzero"`
	PromisedAt  Time `json:"promised_at,omitzero"`
	MovedFrom   Time `json:"moved_from,omitzero"`
	Shifted     bool `json:"shifted,omitempty"`
	ExpiresAt   Time `json:"expires_at,omitzero"` // what the caller set

	// Of a delivered message: when its delivery began, by how much that was
	// after the time promised, and the provider's name for it.
	DeliveredAt Time   `json:"delivered_at,omitzero"`
	LatenessMS  *int64 `json:"lateness_ms,omitempty"`
	ProviderID  string `json:"provider_id,omitempty"`

	EndedAt   Time `json:"ended_at,omitzero"`    // of one that ended otherwise
	NextTryAt Time `json:"next_try_at,omitzero"` // of one that failed and waits to be tried again
	Attempts  int  `json:"attempts,omitempty"`   // deliveries tried, the one that runs included
	// Reason says why it was dropped, given up, postponed or is tried again: a
	// word such as expired or unavailable; of a postponement what was in the way
	// too, as in "late: 1/minute was in the way", "late: marketing 2/calendar_day
	// was in the way" or "late: quiet hours were in the way". Of one that is being
	// sent or was delivered it is why it was not sent before.
	Reason string `json:"reason,omitempty"`
	// Uncertain says that an earlier delivery may have arrived: the user may have
	// got the message, or have got it twice.
	Uncertain bool   `json:"uncertain,omitempty"`
	Category  string `json:"category,omitempty"`
	// Account is who was charged for it; absent without accounts.
	Account string `json:"account,omitempty"`
}

// The statuses. Of a message that is still to come, postponed comes before
// moved, and moved before scheduled: what happened last says most, and a move
// starts a new promise.
const (
	StatusScheduled = "scheduled"
	StatusPostponed = "postponed" // late, and then the rules had no room: from PromisedAt to SendAt
	StatusMoved     = "moved"     // from MovedFrom to SendAt
	StatusSending   = "sending"   // a worker has it
	StatusDelivered = "delivered"
	StatusDropped   = "dropped" // not sent: Reason
	StatusFailed    = "failed"  // given up after its last attempt
	StatusUncertain = "uncertain"
	StatusCancelled = "cancelled"
)

// NoStatus is the outcome of asking for a message of which nothing is known.
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

// Failures is how many deliveries have failed, as far as is known: those tried,
// but for one that runs and one that was successful.
func (s Status) Failures() int {
	if s.Status == StatusSending || s.Status == StatusDelivered {
		return max(0, s.Attempts-1)
	}
	return s.Attempts
}

// Late reports whether Reason is that the message was late, rather than that a
// delivery failed; why is what it says about what was in the way, "" for
// nothing.
func (s Status) Late() (why string, late bool) {
	why, late = strings.CutPrefix(s.Reason, LatePrefix)
	if late {
		return why, true
	}
	return "", s.Reason == reasonLate
}
