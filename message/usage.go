package message

import "time"

// usageAround is the default length of the timeline on each side of a time.
const usageAround = 12 * time.Hour

// UsageSpan returns the default part of a timeline to show around a time. It begins and ends at
// whole minutes, so that drawn rows do, too.
func UsageSpan(around time.Time) (from, to time.Time) {
	return around.Add(-usageAround).Truncate(time.Minute), around.Add(usageAround).Truncate(time.Minute)
}

// Usage says how full a user's rules are at a time, and which times of a timeline are free.
type Usage struct {
	User     string      `json:"user" doc:"The user's name."`
	At       Time        `json:"at" doc:"The time of the usage."`
	From     Time        `json:"from" doc:"The begin."`
	Until    Time        `json:"until" doc:"The end of the timeline, which is not included."`
	Rules    []RuleUsage `json:"rules" doc:"How full each rule is."`
	Free     []Stretch   `json:"free" doc:"Times in which a message would be accepted."`
	Blocked  bool        `json:"blocked,omitempty" doc:"The user is blocked, so no time is free; absent if the user is not blocked."`
	OptedOut bool        `json:"opted_out,omitempty" doc:"The user does not want the category, so no time is free; absent if the user wants it."`
	Quiet    []Stretch   `json:"quiet,omitempty" doc:"Quiet hours in the timeline; absent if there are none."`
	Sends    []Conflict  `json:"sends" doc:"Sent and scheduled messages, by time."`
	More     bool        `json:"more,omitempty" doc:"There are more messages than listed in sends."`
}

// RuleUsage says how full a rule is: for a sliding rule the fullest window that contains the time,
// for a calendar rule the period that contains it.
type RuleUsage struct {
	Rule          string `json:"rule" doc:"The rule, as in the policy."`
	Category      string `json:"category,omitempty" doc:"The category whose messages the rule counts; absent if it counts all messages."`
	Limit         int    `json:"limit" doc:"How many messages it allows in its window."`
	Kind          string `json:"kind" doc:"sliding: counts in every window of the length. calendar: counts in natural periods such as days."`
	WindowSeconds int    `json:"window_seconds,omitempty" doc:"The length of a sliding rule's window."`
	Used          int    `json:"used" doc:"How many messages are in the window."`
	From          Time   `json:"from" doc:"The begin."`
	Until         Time   `json:"until" doc:"The end, which is not included."`
}

// Stretch is the time from From to Until, without Until.
type Stretch struct {
	From  Time `json:"from" doc:"The begin."`
	Until Time `json:"until" doc:"The end, which is not included."`
}
