package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// RefitAction says what to do with a message that breaks the policy.
	RefitAction = message.RefitAction
	// RefitProgress tells how far a refit is.
	RefitProgress = message.RefitProgress
	// RefitSummary counts what a refit or a preview found and did.
	RefitSummary = message.RefitSummary
	// RefitBaseline counts the messages that do not fit the stored policy, in the preview
	// of another one.
	RefitBaseline = message.RefitBaseline
	// Misfit is a scheduled message that breaks a policy.
	Misfit = message.Misfit
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

// RefitEvent is an event of a preview or a refit. One of its fields is set.
type RefitEvent struct {
	Misfit   *Misfit
	Progress *RefitProgress
	Summary  *RefitSummary // the last event, but for an error
}

// PreviewPolicy yields the scheduled messages that would not fit a policy. It changes
// nothing. The last event is the summary, or else an error.
//
// Slow reading slows the API down; an answer that is not read for long is ended. To leave
// the loop ends it too. The API runs one preview or refit at a time; others are retried
// as Options say. After its first event a preview is not retried.
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

// RefitPolicy moves or cancels the scheduled messages that do not fit the stored policy,
// and yields what was done, as PreviewPolicy does. It may end at any time: called again
// with the same version of the policy and the same action, it continues.
//
// It starts two seconds after its first progress event, when every program uses the
// policy. If an earlier refit was killed the first event takes ten seconds, so
// Options.Timeout must be longer.
//
// The error is a *Refusal with CodeRefitRunning if somebody else refits the policy, and
// with CodeVersionMismatch if the policy was replaced meanwhile.
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

// refit yields the events of a preview or a refit.
func (c *Client) refit(ctx context.Context, what call, yield func(RefitEvent, error) bool) {
	yieldEvents(ctx, c, what, yield, func(outcome string, line []byte) (event RefitEvent, summary bool, err error) {
		switch outcome {
		case message.RefitProgressing:
			err = json.Unmarshal(line, &event.Progress)
		case message.Previewed, message.Refitted:
			summary = true
			err = json.Unmarshal(line, &event.Summary)
		case MisfitFound, MisfitMoved, MisfitCancelled, MisfitKept, MisfitGone:
			err = json.Unmarshal(line, &event.Misfit)
		default:
			err = errUnknownKind
		}
		return event, summary, err
	})
}
