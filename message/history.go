package message

// HistoryEntry is a change of a message: its accept, its end, or one in between. A field that
// does not apply is empty.
type HistoryEntry struct {
	At           Time   `json:"at" doc:"When it changed. A delivered message was delivered when its delivery began."`
	Change       string `json:"change" doc:"What changed. accepted begins a history, and delivered, cancelled, dropped, failed or uncertain ends it. Between them: moved, or changed (content, metadata, expires_at) by a request; postponed as it was late, to now or later; retry of a failed delivery at send_at; taken_over from a worker that died or was cut off; revived from the dead letters; paused when it was due and its campaign was paused; resumed when it waited no longer for its campaign."`
	Reason       string `json:"reason,omitempty" doc:"Why; as the reason of a status. One of more than some 20 bytes may be cut."`
	SendAt       Time   `json:"send_at,omitzero" doc:"The send time after the change; with retry, when delivery is tried again."`
	FormerSendAt Time   `json:"former_send_at,omitzero" doc:"The send time before the change."`
	Until        Time   `json:"until,omitzero" doc:"Of paused: when the message expires, if its campaign is not resumed before."`
	Attempt      int    `json:"attempt,omitempty" doc:"The number of the delivery that failed, was taken over or ended the message."`
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
