package message

// The States of Sending.
const (
	SendingRunning = "running"
	SendingStopped = "stopped"
)

// Sending says whether workers send messages.
type Sending struct {
	State  string `json:"state" doc:"running; or stopped by an operator, while accepted messages wait."`
	Reason string `json:"reason,omitempty" doc:"Why it is stopped, in the words of who stopped it."`
	By     string `json:"by,omitempty" doc:"Who stopped it."`
	Since  Time   `json:"since,omitzero" doc:"Since when it is stopped, by the store's clock."`
}

// SendingStopDraft is the request to stop all sending.
type SendingStopDraft struct {
	Reason string `json:"reason" doc:"Why: 1 to 500 bytes of UTF-8 without control characters. Operators see it on every page of the dashboard, and in the audit log."`
}

// The Outcomes of a SendingChange.
const (
	SendingNowStopped     = "stopped"
	SendingAlreadyStopped = "already_stopped"
	SendingNowStarted     = "started"
	SendingAlreadyRunning = "already_running"
)

// SendingChange is the answer to a request to stop or start all sending.
type SendingChange struct {
	Outcome string `json:"outcome" doc:"stopped, already_stopped, started or already_running. The already ones changed nothing: an earlier stop keeps its reason."`
	Sending
}
