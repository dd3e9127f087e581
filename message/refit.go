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
	Outcome    string      `json:"outcome" doc:"misfit in a preview; otherwise moved, cancelled, kept if nothing could be done, or gone if it was sent, moved or cancelled meanwhile."`
	Code       fault.Code  `json:"code,omitempty" doc:"Why the message was kept."`
	ID         string      `json:"id" doc:"The message's id."`
	User       string      `json:"user" doc:"The user's name."`
	Category   string      `json:"category,omitempty" doc:"Its category."`
	SendAt     Time        `json:"send_at" doc:"The send time; of a moved message, the new one."`
	MovedFrom  Time        `json:"moved_from,omitzero" doc:"The send time that did not fit."`
	Breaks     string      `json:"breaks" doc:"The rule that the message would break, after the name of the category if it has one; or quiet_hours."`
	QuietHours *QuietHours `json:"quiet_hours,omitempty" doc:"The quiet hours that contain the send time."`
	Detail     string      `json:"detail" doc:"A sentence for a person."`
}

// RefitProgressing is the Outcome of a RefitProgress.
const RefitProgressing = "progress"

// RefitProgress says how far a preview or a refit is.
type RefitProgress struct {
	Outcome    string `json:"outcome" doc:"progress"`
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
	Outcome string      `json:"outcome" doc:"previewed or refitted. The summary is the last line, or the line before an error."`
	Policy  string      `json:"policy" doc:"The name of the policy."`
	Version int64       `json:"version,omitempty" doc:"The version of the policy; absent in a preview."`
	Action  RefitAction `json:"then,omitempty" doc:"What was done: shift or cancel; absent in a preview."`

	RefitTotals

	Moved     int            `json:"moved,omitempty" doc:"Messages that were moved."`
	Cancelled int            `json:"cancelled,omitempty" doc:"Messages that were cancelled."`
	Kept      int            `json:"kept,omitempty" doc:"Messages for which nothing could be done: they are sent as promised."`
	Gone      int            `json:"gone,omitempty" doc:"Messages that were sent, moved or cancelled meanwhile."`
	Baseline  *RefitBaseline `json:"baseline,omitempty" doc:"The same of the policy that is stored, in a preview of another one."`
	First     int            `json:"first_partition,omitempty" doc:"The part of the store at which it continued after an earlier run, whose figures it includes."`
	Next      int            `json:"next_partition" doc:"The next part of the store. When all are done, the number of parts."`
}

// RefitBaseline counts the misfits of the stored policy: they do not fit already.
type RefitBaseline struct {
	Version       int64          `json:"version" doc:"The version of the stored policy."`
	MisfitUsers   int            `json:"misfit_users" doc:"Users with messages that do not fit it."`
	Misfits       int            `json:"misfits" doc:"Messages that do not fit it."`
	MisfitsByRule map[string]int `json:"misfits_by_rule" doc:"Messages that do not fit it, by the rule that they would break."`
}
