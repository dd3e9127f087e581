package message

import "time"

// usageAround is how much of a timeline is looked at on each side of a time.
const usageAround = 12 * time.Hour

// UsageSpan is the stretch of a timeline that is looked at around a time, unless
// the caller says otherwise: whole minutes, so that drawn rows begin with one.
func UsageSpan(around time.Time) (from, to time.Time) {
	return around.Add(-usageAround).Truncate(time.Minute), around.Add(usageAround).Truncate(time.Minute)
}

// Usage says how full a user's rules are around a time, and what is taken and
// free in a stretch of the timeline, as every surface spells it.
type Usage struct {
	User  string      `json:"user"`
	At    Time        `json:"at"`
	From  Time        `json:"from"`
	To    Time        `json:"to"`
	Rules []RuleUsage `json:"rules"`
	Free  []Stretch   `json:"free"`
	// Blocked says that the user is, so that nothing is free.
	Blocked bool       `json:"blocked,omitempty"`
	Quiet   []Stretch  `json:"quiet,omitempty"` // what is in quiet hours
	Sends   []Conflict `json:"sends"`           // sent and unsent
	// More says that there are more sends than those listed.
	More bool `json:"more,omitempty"`
}

// RuleUsage is how full a rule is, which is spelled as that of a Violation: of a
// sliding rule in the fullest window that has the time, of a calendar rule in
// the period that has it.
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

// Stretch is a stretch of time, Until not included.
type Stretch struct {
	From  Time `json:"from"`
	Until Time `json:"until"`
}
