package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// RefitAction is what RefitPolicy does with messages that do not fit.
type RefitAction string

// The actions.
const (
	RefitShift  RefitAction = "shift"  // each is moved to its next free time before it expires
	RefitCancel RefitAction = "cancel" // each is taken back
)

// RefitEvent is what a preview or a refit tells while it goes: one of the three.
type RefitEvent struct {
	Misfit   *Misfit
	Progress *RefitProgress
	Summary  *RefitSummary // the last one, but for an error
}

// What Misfit.Outcome can be. There may be more one day.
const (
	MisfitFound     = "misfit" // of a preview
	MisfitMoved     = "moved"
	MisfitCancelled = "cancelled"
	MisfitKept      = "kept" // nothing could be done: it is sent as it was promised
	MisfitGone      = "gone" // somebody else was quicker
)

// Misfit is a message that does not fit a policy, and what was done about it.
type Misfit struct {
	Outcome   string    `json:"outcome"`
	Code      Code      `json:"code"` // why it was kept; "" of others
	ID        string    `json:"id"`
	User      string    `json:"user"`
	Category  string    `json:"category"`
	SendAt    time.Time `json:"send_at"`    // once moved, the new one
	MovedFrom time.Time `json:"moved_from"` // where it did not fit; zero of one that was not moved
	// Breaks is the rule that it would break, 10/calendar_day, behind its category
	// where it is of one, or quiet_hours, which QuietHours then has.
	Breaks     string      `json:"breaks"`
	QuietHours *QuietHours `json:"quiet_hours"`
	Detail     string      `json:"detail"` // a sentence for a person
}

// RefitProgress is how far a preview or a refit is.
type RefitProgress struct {
	Done       int `json:"partitions_done"` // parts of the store that it has gone through, an earlier run's included
	Partitions int `json:"partitions"`
}

// RefitSummary counts what was found, and what was done about it. Beside an error,
// and after an earlier run, it is of what was looked at.
type RefitSummary struct {
	Outcome       string         `json:"outcome"` // previewed or refitted
	Policy        string         `json:"policy"`
	Version       int64          `json:"version"`      // zero of a preview
	Action        RefitAction    `json:"then"`         // "" of a preview
	Users         int            `json:"users"`        // of the policy who have messages still to be sent
	Reservations  int            `json:"reservations"` // those messages
	MisfitUsers   int            `json:"misfit_users"`
	Misfits       int            `json:"misfits"`
	MisfitsByRule map[string]int `json:"misfits_by_rule"` // by Misfit.Breaks
	Moved         int            `json:"moved"`
	Cancelled     int            `json:"cancelled"`
	Kept          int            `json:"kept"`
	Gone          int            `json:"gone"`
	UnclearUsers  int            `json:"unclear_users"` // passed over: their settings name a policy that is not there
	// First is the part of the store that it went on with, Next the one that is
	// next: as many as there are, where it is through.
	First int `json:"first_partition"`
	Next  int `json:"next_partition"`
}

// PreviewPolicy tells what is scheduled and would not fit a policy if it were
// applied, which it is not: nothing is changed. An error is the last thing it
// gives; without one the summary is.
//
// Nothing is kept of what was told, and whoever is slow with it slows the API
// down, which ends an answer that is not read for long. To leave the loop ends it,
// too. The API answers one preview or refit at a time and tells others to come
// back, which is done as often as Options say. What fails once it has told
// something is not begun anew.
func (c *Client) PreviewPolicy(ctx context.Context, p Policy) iter.Seq2[RefitEvent, error] {
	what := call{doing: "previewing a policy", method: http.MethodPost}
	return func(yield func(RefitEvent, error) bool) {
		what, err := what.ofPolicy(p.Name, p, "preview")
		if err != nil {
			yield(RefitEvent{}, err)
			return
		}
		c.refit(ctx, what, yield)
	}
}

// RefitPolicy does something about what is scheduled and does not fit a policy as
// it is stored, and tells of each message what was done. It tells as PreviewPolicy
// does, and can end at any time: called again, for the same version of the policy
// and in the same way, it goes on where it was.
//
// It begins two seconds after its first progress, when every program goes by the
// policy. Where one before it was killed the first progress takes ten seconds, and
// Options.Timeout has to be longer.
//
// The error is a *Refusal with CodeRefitRunning where somebody else is at the same
// policy, and with CodeVersionMismatch where it was replaced meanwhile.
func (c *Client) RefitPolicy(ctx context.Context, name string, then RefitAction) iter.Seq2[RefitEvent, error] {
	what := call{doing: "refitting a policy", method: http.MethodPost, query: values("then", string(then))}
	return func(yield func(RefitEvent, error) bool) {
		what, err := what.ofPolicy(name, nil, "refit")
		if err != nil {
			yield(RefitEvent{}, err)
			return
		}
		c.refit(ctx, what, yield)
	}
}

// refit gives the caller what a preview or a refit tells. It is asked for again
// until it tells something.
func (c *Client) refit(ctx context.Context, what call, yield func(RefitEvent, error) bool) {
	r := &refit{client: c, yield: yield}
	err := c.repeat(ctx, func(ctx context.Context) *failure {
		failed := r.stream(ctx, what)
		if failed != nil && r.begun {
			failed.again = false
		}
		return failed
	})
	if err != nil {
		yield(RefitEvent{}, fmt.Errorf("%s: %w", what.doing, err))
	}
}
