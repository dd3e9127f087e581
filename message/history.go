package message

// HistoryEntry is a change of a message, including its accept and its end. A field that does not
// apply is empty.
type HistoryEntry struct {
	At           Time            `json:"at" doc:"When it changed. A delivered message was delivered when its delivery began."`
	Change       string          `json:"change" doc:"What changed. accepted begins a history, and delivered, cancelled, dropped, failed or uncertain ends it. Between them: moved, changed (content, metadata, expires_at) or replaced by a request, or moved by changed settings of its user (the reason is settings_changed); postponed because it was late, to now or later; retry of a failed delivery at send_at; taken_over from a worker that died or was cut off; revived from the dead letters; paused when it was due and its campaign was paused; resumed after that pause."`
	Reason       string          `json:"reason,omitempty" doc:"Why, as in the reason of a status. A reason of more than about 20 bytes may be cut."`
	SendAt       Time            `json:"send_at,omitzero" doc:"The send time after the change; with retry, when delivery is tried again."`
	FormerSendAt Time            `json:"former_send_at,omitzero" doc:"The send time before the change."`
	Local        *ResolvedLocal  `json:"local,omitempty" doc:"The local time that this change asked for, and how it was read. Only the last change that gave the message a send time has it."`
	Window       *ResolvedWindow `json:"window,omitempty" doc:"The window that this change asked for. Only the last change that gave the message a send time has it."`
	Until        Time            `json:"until,omitzero" doc:"For paused: when the message expires, unless its campaign is resumed before."`
	Attempt      int             `json:"attempt,omitempty" doc:"The number of the delivery that failed, was taken over or ended the message."`
}

// Values of HistoryEntry.Change. A running delivery is not a change.
const (
	ChangeAccepted  = "accepted"
	ChangeMoved     = "moved"
	ChangeReplaced  = "replaced"   // by another message with its id
	ChangeChanged   = "changed"    // content, metadata or expires_at; Reason says which
	ChangePostponed = "postponed"  // it was late: it was sent then, or got a later time
	ChangeRetry     = "retry"      // a delivery failed, and is retried
	ChangeTakenOver = "taken_over" // its worker died or was cut off, and another one took it
	ChangeRevived   = "revived"    // a dead letter became pending again
	ChangePaused    = "paused"     // it was due, and waits for its paused campaign; once a pause
	ChangeResumed   = "resumed"    // its campaign was resumed
	ChangeDelivered = "delivered"  // when the delivery began
	ChangeCancelled = "cancelled"
	ChangeDropped   = "dropped"
	ChangeFailed    = "failed"
	ChangeUncertain = "uncertain"
)

// Changes returns the values of HistoryEntry.Change.
func Changes() []string {
	return []string{
		ChangeAccepted, ChangeMoved, ChangeReplaced, ChangeChanged, ChangePostponed, ChangeRetry, ChangeTakenOver, ChangeRevived,
		ChangePaused, ChangeResumed, ChangeDelivered, ChangeCancelled, ChangeDropped, ChangeFailed, ChangeUncertain,
	}
}
