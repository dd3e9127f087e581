package message

// Pace is how fast all workers together call the push target. Rate and Burst are zero
// without a pace.
type Pace struct {
	Target      string `json:"target" doc:"The target: push, or push- and a channel."`
	Rate        string `json:"rate,omitempty" doc:"Deliveries in an interval; absent if there is no pace, so that deliveries go as fast as they can."`
	Burst       int64  `json:"burst,omitempty" doc:"Deliveries that may start at once; absent if all that the rate allows may."`
	PausedUntil *Time  `json:"paused_until,omitempty" doc:"The end of the pause that the target has asked for; absent if it is not paused."`
}

// PaceDraft is the request for a pace.
type PaceDraft struct {
	Rate  string `json:"rate" doc:"Deliveries in an interval, such as 100/second, 6000/minute or 20/500ms: 1 to 100,000 in 1 ms to 31 days."`
	Burst int64  `json:"burst,omitempty" doc:"Deliveries that may start at once, at most those of the rate. By default all that the rate allows."`
}
