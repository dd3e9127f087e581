package message

// Session is a login to the dashboard.
type Session struct {
	ID      string `json:"id" doc:"The session's id, which is not secret."`
	Account string `json:"account" doc:"The account that has logged in."`
	Key     string `json:"key" doc:"The id of its key."`
	Address string `json:"address,omitempty" doc:"The address of the client; absent if unknown."`
	Began   Time   `json:"began" doc:"When it began."`
	Ends    Time   `json:"ends" doc:"When it ends, unless its key is removed before."`
}

// Sessions are the open sessions.
type Sessions struct {
	Sessions []Session `json:"sessions" doc:"By their end, the first one first."`
}

// SessionEnded is the Outcome of a SessionEnd.
const SessionEnded = "ended"

// SessionEnd is the answer to a request to end a session.
type SessionEnd struct {
	Outcome string `json:"outcome" doc:"ended"`
	Session string `json:"session" doc:"Its id."`
}
