package message

import "fmt"

// Pace limits how fast all workers together call a push target. Rate and Burst are zero without
// one.
type Pace struct {
	Target      string `json:"target" doc:"The target: push, or push- and a channel."`
	Rate        string `json:"rate,omitempty" doc:"Deliveries in an interval; absent without a limit."`
	Burst       int64  `json:"burst,omitempty" doc:"Deliveries that may start at once; absent if it is as many as the rate allows."`
	PausedUntil *Time  `json:"paused_until,omitempty" doc:"The end of the pause that the target asked for; absent if there is none."`
	// Learned is nil if the target has refused no call for an hour.
	Learned *LearnedPace `json:"learned,omitempty" doc:"How fast the target accepts calls, as its refusals show; absent if it has refused none for an hour."`
}

// LearnedPace is how fast a target accepts calls, as its refusals of too many calls show.
type LearnedPace struct {
	PerSecond        float64 `json:"per_second" doc:"Calls of all workers together in a second, at present. The lower of it and of rate holds."`
	RefusedPerSecond float64 `json:"refused_per_second" doc:"Calls in a second when the target last refused some."`
}

// String describes the rate, and why it is learned.
func (l LearnedPace) String() string {
	return fmt.Sprintf("learned: %.3g calls in a second, since the target refused some at %.3g in a second", l.PerSecond, l.RefusedPerSecond)
}

// PaceDraft is the request for a pace.
type PaceDraft struct {
	Rate  string `json:"rate" doc:"Deliveries in an interval, such as 100/second, 6000/minute or 20/500ms: 1 to 100,000 in 1 ms to 31 days."`
	Burst int64  `json:"burst,omitempty" doc:"Deliveries that may start at once, at most as many as the rate allows, which is the default."`
}
