package client

import "github.com/sendlimit/sendlimiter/message"

// Values of Status.Status. More may be added.
const (
	StatusScheduled = message.StatusScheduled
	StatusPostponed = message.StatusPostponed // it was late and the rules had no room: from PromisedAt to SendAt
	StatusMoved     = message.StatusMoved     // from MovedFrom to SendAt
	StatusSending   = message.StatusSending
	StatusDelivered = message.StatusDelivered
	StatusDropped   = message.StatusDropped   // not sent: see Reason
	StatusFailed    = message.StatusFailed    // given up after its last attempt: a dead letter
	StatusUncertain = message.StatusUncertain // it may or may not have arrived: a dead letter
	StatusCancelled = message.StatusCancelled
)

// Values of DeviceStatus.State. More may be added.
const (
	DeviceDelivered = message.DeviceDelivered
	DeviceGone      = message.DeviceGone      // its provider knows it no more
	DeviceFailed    = message.DeviceFailed    // its provider does not accept the message
	DeviceUncertain = message.DeviceUncertain // the message may have arrived there
)

// Values of DeviceChange.Outcome.
const (
	DeviceAdded     = message.DeviceAdded
	DeviceReplaced  = message.DeviceReplaced // it took the place of one with its id or its address
	DeviceUnchanged = message.DeviceUnchanged
)

// Values of HistoryEntry.Change. More may be added. A delivery that is running is no change
// yet.
const (
	ChangeAccepted  = message.ChangeAccepted
	ChangeMoved     = message.ChangeMoved
	ChangeChanged   = message.ChangeChanged   // content, metadata or expires_at; Reason says which
	ChangePostponed = message.ChangePostponed // it was late: it went out then, or got a later time
	ChangeRetry     = message.ChangeRetry     // a delivery failed, and is tried again
	ChangeTakenOver = message.ChangeTakenOver // a worker died or was cut off while it sent the message; another one took it
	ChangeRevived   = message.ChangeRevived   // a dead letter was made pending again
	ChangePaused    = message.ChangePaused    // it was due, and waits for its paused campaign; once a pause
	ChangeResumed   = message.ChangeResumed   // it does not wait any more, as its campaign was resumed
	ChangeDelivered = message.ChangeDelivered // at the time when the delivery began
	ChangeCancelled = message.ChangeCancelled
	ChangeDropped   = message.ChangeDropped
	ChangeFailed    = message.ChangeFailed
	ChangeUncertain = message.ChangeUncertain
)

// Values of Misfit.Outcome. More may be added.
const (
	MisfitFound     = message.MisfitFound // of a preview
	MisfitMoved     = message.Moved
	MisfitCancelled = message.Cancelled
	MisfitKept      = message.MisfitKept // it is sent as promised: nothing could be done
	MisfitGone      = message.MisfitGone // it was sent, moved or cancelled by somebody else
)

// Values of RefitPolicyQuery.Then.
const (
	RefitShift  = string(message.RefitShift)  // each message moves to its next free time before it expires
	RefitCancel = string(message.RefitCancel) // each message is cancelled
)

// Scope names what an API key allows.
type Scope = message.Scope

// The scopes of API keys.
const (
	ScopeSubmit  = message.ScopeSubmit
	ScopeRead    = message.ScopeRead
	ScopeAdmin   = message.ScopeAdmin
	ScopeContent = message.ScopeContent // with admin: shows the content of other accounts' messages
)
