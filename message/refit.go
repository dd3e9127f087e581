package message

import (
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// RefitAction says what happens to messages that do not fit their policy.
type RefitAction string

// The actions.
const (
	RefitKeep   RefitAction = "keep"   // they are sent as accepted
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
	MisfitFound = "misfit" // nothing was done
	MisfitKept  = "kept"   // it is sent as accepted: nothing could be done, or it fits again
	MisfitGone  = "gone"   // somebody else sent, cancelled or moved it meanwhile
)

// Misfit is a message that does not fit its policy, and its outcome.
type Misfit struct {
	Outcome    string      `json:"outcome" doc:"misfit in a dry run; otherwise moved, cancelled, kept if nothing could be done, or gone if it was sent, moved or cancelled meanwhile."`
	Code       fault.Code  `json:"code,omitempty" doc:"Why the message was kept."`
	ID         string      `json:"id" doc:"The message's id."`
	User       string      `json:"user" doc:"The user's name."`
	Category   string      `json:"category,omitempty" doc:"Its category."`
	SendAt     Time        `json:"send_at" doc:"The send time; for a moved message, the new one."`
	MovedFrom  Time        `json:"moved_from,omitzero" doc:"The send time that did not fit."`
	Breaks     string      `json:"breaks" doc:"The rule that the message would break, preceded by its category if it has one; or quiet_hours, do_not_disturb, opted_out or blocked."`
	QuietHours *QuietHours `json:"quiet_hours,omitempty" doc:"The quiet hours that contain the send time."`
	Detail     string      `json:"detail" doc:"A sentence for a person."`
}

// RefitProgressing is the Outcome of a RefitProgress.
const RefitProgressing = "progress"

// RefitProgress is the progress of a refit or its dry run.
type RefitProgress struct {
	Outcome    string `json:"outcome" doc:"progress"`
	Done       int    `json:"partitions_done" doc:"Parts of the store that are done, including those of an earlier run."`
	Partitions int    `json:"partitions" doc:"The number of parts of the store."`
}

// Values of RefitSummary.Outcome.
const (
	DryRun   = "dry_run" // a dry run
	Refitted = "refitted"
)

// RefitSummary counts the misfits of a policy and their outcomes. A run that continues earlier ones
// includes their figures.
type RefitSummary struct {
	Outcome string      `json:"outcome" doc:"dry_run or refitted. The summary is the last line, or the line before an error."`
	Policy  string      `json:"policy" doc:"The name of the policy."`
	Version int64       `json:"version,omitempty" doc:"The version of the policy; absent in a dry run."`
	Action  RefitAction `json:"then,omitempty" doc:"What was done: shift or cancel; absent in a dry run."`

	RefitTotals

	Moved     int            `json:"moved,omitempty" doc:"Messages that were moved."`
	Cancelled int            `json:"cancelled,omitempty" doc:"Messages that were cancelled."`
	Kept      int            `json:"kept,omitempty" doc:"Messages for which nothing could be done: they are sent as accepted."`
	Gone      int            `json:"gone,omitempty" doc:"Messages that were sent, moved or cancelled meanwhile."`
	Baseline  *RefitBaseline `json:"baseline,omitempty" doc:"In a dry run of another policy, the misfits of the stored policy."`
	First     int            `json:"first_partition,omitempty" doc:"The part of the store at which it continued after an earlier run, whose figures it includes."`
	Next      int            `json:"next_partition" doc:"The next part of the store. When all are done, the number of parts."`
}

// RefitBaseline counts the misfits of the stored policy.
type RefitBaseline struct {
	Version       int64          `json:"version" doc:"The version of the stored policy."`
	MisfitUsers   int            `json:"misfit_users" doc:"Users with messages that do not fit it."`
	Misfits       int            `json:"misfits" doc:"Messages that do not fit it."`
	MisfitsByRule map[string]int `json:"misfits_by_rule" doc:"Messages that do not fit it, by the rule that they would break."`
}
