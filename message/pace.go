package message

// Pace limits how fast all workers together call a push target. Rate and Burst are zero without
// one.
type Pace struct {
	Target      string `json:"target" doc:"The target: push, or push- and a channel."`
	Rate        string `json:"rate,omitempty" doc:"Deliveries in an interval; absent without a limit."`
	Burst       int64  `json:"burst,omitempty" doc:"Deliveries that may start at once; absent if it is as many as the rate allows."`
	PausedUntil *Time  `json:"paused_until,omitempty" doc:"The end of the pause that the target asked for; absent if there is none."`
}

// PaceDraft is the request for a pace.
type PaceDraft struct {
	Rate  string `json:"rate" doc:"Deliveries in an interval, such as 100/second, 6000/minute or 20/500ms: 1 to 100,000 in 1 ms to 31 days."`
	Burst int64  `json:"burst,omitempty" doc:"Deliveries that may start at once, at most as many as the rate allows, which is the default."`
}
