package message

import (
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// RefitAction says what to do with messages that do not fit their policy.
type RefitAction string

// The actions.
const (
	RefitKeep   RefitAction = "keep"   // they are sent as promised
	RefitShift  RefitAction = "shift"  // each moves to its next free time before it expires
	RefitCancel RefitAction = "cancel" // they are cancelled
)

// ParseRefitAction reads an action. The error is a *fault.InvalidError.
func ParseRefitAction(text string) (RefitAction, error) {
	switch a := RefitAction(text); a {
	case RefitKeep, RefitShift, RefitCancel:
		return a, nil
	default:
		return "", NotAllowed("then", text, "%s, %s or %s", RefitKeep, RefitShift, RefitCancel)
	}
}

// Values of Misfit.Outcome, beside Moved and Cancelled.
const (
	MisfitFound = "misfit" // it does not fit, and nothing was done about it
	MisfitKept  = "kept"   // it is sent as promised: nothing could be done, or it fits again
	MisfitGone  = "gone"   // it was sent, cancelled or moved by somebody else meanwhile
)

// Misfit is a message that does not fit its policy, and what was done about it.
type Misfit struct {
	Outcome string `json:"outcome"`
	// Code says why it was kept: CodeSendLimit if no time is free before it expires,
	// or the code of the refusal. It is empty otherwise.
	Code     fault.Code `json:"code,omitempty"`
	ID       string     `json:"id"`
	User     string     `json:"user"`
	Category string     `json:"category,omitempty"`
	// SendAt is the send time; after a move, the new one. MovedFrom is then the old one.
	SendAt    Time `json:"send_at"`
	MovedFrom Time `json:"moved_from,omitzero"`
	// Breaks is what it would break: a rule such as "2/calendar_day", a category's
	// rule such as "marketing 2/calendar_day", or "quiet_hours" (see QuietHours).
	Breaks     string      `json:"breaks"`
	QuietHours *QuietHours `json:"quiet_hours,omitempty"`
	Detail     string      `json:"detail"` // a sentence for a person
}

// RefitProgressing is the Outcome of a RefitProgress.
const RefitProgressing = "progress"

// RefitProgress says how far a preview or a refit is.
type RefitProgress struct {
	Outcome    string `json:"outcome"`
	Done       int    `json:"partitions_done" doc:"Parts of the store that are done, including those of an earlier run."`
	Partitions int    `json:"partitions" doc:"The number of parts of the store."`
}

// Values of RefitSummary.Outcome.
const (
	Previewed = "previewed" // nothing was done
	Refitted  = "refitted"
)

// RefitSummary counts the misfits of a policy and what was done about them. A run
// that continues earlier ones counts theirs, too.
type RefitSummary struct {
	Outcome string      `json:"outcome"` // Previewed or Refitted
	Policy  string      `json:"policy"`
	Version int64       `json:"version,omitempty"` // absent of a preview
	Action  RefitAction `json:"then,omitempty"`    // absent of a preview

	RefitTotals

	Moved     int `json:"moved,omitempty"`
	Cancelled int `json:"cancelled,omitempty"`
	Kept      int `json:"kept,omitempty"`
	Gone      int `json:"gone,omitempty"`
	// Baseline has the same of the policy that is stored, in a preview of another one.
	Baseline *RefitBaseline `json:"baseline,omitempty"`
	// First is the partition this run began with. Next is the first one that was not
	// looked at: the number of partitions if the run is complete.
	First int `json:"first_partition,omitempty"`
	Next  int `json:"next_partition"`
}

// RefitBaseline counts the misfits of the stored policy: they do not fit already.
type RefitBaseline struct {
	Version       int64          `json:"version" doc:"The version of the stored policy."`
	MisfitUsers   int            `json:"misfit_users" doc:"Users with messages that do not fit it."`
	Misfits       int            `json:"misfits" doc:"Messages that do not fit it."`
	MisfitsByRule map[string]int `json:"misfits_by_rule" doc:"Messages that do not fit it, by the rule that they would break."`
}
