package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// What the calls about misfits take and return.
type (
	RefitAction   = message.RefitAction
	RefitProgress = message.RefitProgress
	RefitSummary  = message.RefitSummary
	Misfit        = message.Misfit
)

// The actions of RefitPolicy.
const (
	RefitShift  = message.RefitShift  // each message moves to its next free time before it expires
	RefitCancel = message.RefitCancel // each message is cancelled
)

// Values of Misfit.Outcome. More may be added.
const (
	MisfitFound     = message.MisfitFound // of a preview
	MisfitMoved     = message.Moved
	MisfitCancelled = message.Cancelled
	MisfitKept      = message.MisfitKept // it is sent as promised: nothing could be done
	MisfitGone      = message.MisfitGone // it was sent, moved or cancelled by somebody else
)

// RefitEvent is what a preview or a refit tells while it goes: one of the three.
type RefitEvent struct {
	Misfit   *Misfit
	Progress *RefitProgress
	Summary  *RefitSummary // the last one, but for an error
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
