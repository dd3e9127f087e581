package message

import "time"

// usageAround is the default length of the timeline on each side of a time.
const usageAround = 12 * time.Hour

// UsageSpan returns the default part of a timeline to show around a time. It begins and
// ends at whole minutes, so that drawn rows do.
func UsageSpan(around time.Time) (from, to time.Time) {
	return around.Add(-usageAround).Truncate(time.Minute), around.Add(usageAround).Truncate(time.Minute)
}

// Usage says how full a user's rules are at a time, and what is taken and free in a
// part of the timeline.
type Usage struct {
	User  string      `json:"user"`
	At    Time        `json:"at"`
	From  Time        `json:"from"`
	To    Time        `json:"to"`
	Rules []RuleUsage `json:"rules"`
	Free  []Stretch   `json:"free"`
	// Blocked reports whether the user is blocked; then nothing is free.
	Blocked bool `json:"blocked,omitempty"`
	// OptedOut reports whether the user does not want the category; then nothing is free.
	OptedOut bool       `json:"opted_out,omitempty"`
	Quiet    []Stretch  `json:"quiet,omitempty"` // what is in quiet hours
	Sends    []Conflict `json:"sends"`           // sent and unsent
	// More reports whether there are more sends than those listed.
	More bool `json:"more,omitempty"`
}

// RuleUsage says how full a rule is. Of a sliding rule it is the fullest window that
// contains the time, of a calendar rule the period that contains it.
type RuleUsage struct {
	Rule          string `json:"rule"`
	Category      string `json:"category,omitempty"`
	Limit         int    `json:"limit"`
	Kind          string `json:"kind"`
	WindowSeconds int    `json:"window_seconds,omitempty"`
	Used          int    `json:"used"`
	From          Time   `json:"from"`
	Until         Time   `json:"until"`
}

// Stretch is the time from From until Until, without Until.
type Stretch struct {
	From  Time `json:"from"`
	Until Time `json:"until"`
}
