package message

// Session is somebody who has logged in to the dashboard.
type Session struct {
	ID      string `json:"id" doc:"Names the session; nobody can log in with it."`
	Account string `json:"account" doc:"The account that has logged in."`
	Key     string `json:"key" doc:"The id of its key."`
	Address string `json:"address,omitempty" doc:"The address that it came from; absent if that is unknown."`
	Began   Time   `json:"began" doc:"When it began."`
	Ends    Time   `json:"ends" doc:"When it ends, unless its key is removed before."`
}

// Sessions are those that have not ended.
type Sessions struct {
	Sessions []Session `json:"sessions" doc:"Those that end first before others."`
}

// SessionEnded is the Outcome of a SessionEnd.
const SessionEnded = "ended"

// SessionEnd is the answer to a session that was ended.
type SessionEnd struct {
	Outcome string `json:"outcome" doc:"ended"`
	Session string `json:"session" doc:"Its id."`
}
