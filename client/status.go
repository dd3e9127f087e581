package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

// Status says what became of a message. It has the content until the message ended, if the
// key may see it: that of another account's message is shown only to a key with the scopes
// admin and content. A time that does not apply is zero.
type Status = message.Status

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

// DeviceStatus says what became of a message on one device.
type DeviceStatus = message.DeviceStatus

// Values of DeviceStatus.State. More may be added.
const (
	DeviceDelivered = message.DeviceDelivered
	DeviceGone      = message.DeviceGone      // its provider knows it no more
	DeviceFailed    = message.DeviceFailed    // its provider does not accept the message
	DeviceUncertain = message.DeviceUncertain // the message may have arrived there
)

// HistoryEntry is a change of a message: its accept, its end, or one in between.
type HistoryEntry = message.HistoryEntry

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

// Status returns what became of a message. The error is ErrNotFound if nothing is known of
// it.
func (c *Client) Status(ctx context.Context, user, id string) (Status, error) {
	const doing = "asking for a message"
	path, err := messagePath(user, "messages", id)
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", doing, err)
	}
	var s Status
	err = c.do(ctx, call{doing: doing, method: http.MethodGet, path: path}, &s)
	return s, err
}
