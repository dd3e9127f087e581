package message

// HistoryEntry is a change of a message: its accept, its end, or one in between. A field that
// does not apply is empty.
type HistoryEntry struct {
	At     Time   `json:"at"`
	Change string `json:"change"` // see the constants
	// Reason is as in Status. One of more than some 20 bytes may be cut.
	Reason string `json:"reason,omitempty"`
	// SendAt is the send time after the change; with ChangeRetry, when delivery is tried
	// again. FormerSendAt is the send time before the change.
	SendAt       Time `json:"send_at,omitzero"`
	FormerSendAt Time `json:"former_send_at,omitzero"`
	// Until is set with ChangePaused: when the message expires, if it still waits then.
	Until Time `json:"until,omitzero"`
	// Attempt is the number of the delivery that failed, was taken over or ended the message.
	Attempt int `json:"attempt,omitempty"`
}

// Values of HistoryEntry.Change. A delivery that is running is no change yet.
const (
	ChangeAccepted  = "accepted"
	ChangeMoved     = "moved"
	ChangeChanged   = "changed"    // content, metadata or expires_at; Reason says which
	ChangePostponed = "postponed"  // it was late: it went out then, or got a later time
	ChangeRetry     = "retry"      // a delivery failed, and is tried again
	ChangeTakenOver = "taken_over" // a worker died or was cut off while it sent the message; another one took it
	ChangeRevived   = "revived"    // a dead letter was made pending again
	ChangePaused    = "paused"     // it was due, and waits for its paused campaign; once a pause
	ChangeResumed   = "resumed"    // it does not wait any more, as its campaign was resumed
	ChangeDelivered = "delivered"  // at the time when the delivery began
	ChangeCancelled = "cancelled"
	ChangeDropped   = "dropped"
	ChangeFailed    = "failed"
	ChangeUncertain = "uncertain"
)

// Changes lists the values of HistoryEntry.Change.
func Changes() []string {
	return []string{
		ChangeAccepted, ChangeMoved, ChangeChanged, ChangePostponed, ChangeRetry, ChangeTakenOver, ChangeRevived,
		ChangePaused, ChangeResumed, ChangeDelivered, ChangeCancelled, ChangeDropped, ChangeFailed, ChangeUncertain,
	}
}
