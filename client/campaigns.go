package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// CampaignStatus says how many messages a campaign has.
	CampaignStatus = message.CampaignStatus
	// CampaignProgress says how many messages of a campaign were looked at.
	CampaignProgress = message.CampaignProgress
	// CampaignSummary counts what was done with the messages of a campaign.
	CampaignSummary = message.CampaignSummary
)

// CampaignName names a campaign. Account "" is that of the key; another one needs the scope
// admin.
type CampaignName struct{ Name, Account string }

// CampaignEvent is an event of work on a campaign. One of its fields is set.
type CampaignEvent struct {
	Refused  *Refusal // a message keeps its place
	Progress *CampaignProgress
	Summary  *CampaignSummary // the last event, but for an error
}

// Campaign counts the messages of a campaign. If there are very many, it asks as often as
// that takes. Messages lists them.
func (c *Client) Campaign(ctx context.Context, of CampaignName) (status CampaignStatus, err error) {
	for status, err = range c.CampaignCounts(ctx, of, "") {
		if err != nil {
			break
		}
	}
	return status, err
}

// CampaignCounts is Campaign that yields each answer: how many messages were counted so far, and
// in the end all, or an error. It goes on with a count if more, its CampaignStatus.More, is set.
func (c *Client) CampaignCounts(ctx context.Context, of CampaignName, more string) iter.Seq2[CampaignStatus, error] {
	return func(yield func(CampaignStatus, error) bool) {
		const doing = "counting a campaign"
		for {
			status, err := c.campaignStatus(ctx, call{doing: doing, method: http.MethodGet}, of, more)
			if err == nil && status.More == more && more != "" {
				err = fmt.Errorf("%s: %w", doing, &ResponseError{Detail: "the count goes round: an answer goes on where the one before did"})
			}
			if !yield(status, err) || err != nil || status.More == "" {
				return
			}
			more = status.More
		}
	}
}

// PauseCampaign pauses a campaign, and counts its messages; if CampaignStatus.More is set, there
// are more than those, and CampaignCounts goes on. Within 4 seconds every worker follows; what
// is being sent is sent. Pausing twice is no error.
func (c *Client) PauseCampaign(ctx context.Context, of CampaignName) (CampaignStatus, error) {
	return c.campaignStatus(ctx, call{doing: "pausing a campaign", method: http.MethodPost}, of, "", "pause")
}

// ResumeCampaign resumes a paused campaign, and yields how far it is. Messages whose time has
// passed get their next free times. It takes 4 seconds, until every worker knows. The last
// event is the summary, or else an error. To leave the loop ends the request; called again, it
// goes on.
func (c *Client) ResumeCampaign(ctx context.Context, of CampaignName) iter.Seq2[CampaignEvent, error] {
	return c.campaignWork(ctx, call{doing: "resuming a campaign", method: http.MethodPost}, of, nil, "resume")
}

// CancelCampaign cancels the messages of a campaign that are not sent yet, and yields what was
// done, as ResumeCampaign does.
func (c *Client) CancelCampaign(ctx context.Context, of CampaignName) iter.Seq2[CampaignEvent, error] {
	return c.campaignWork(ctx, call{doing: "cancelling a campaign", method: http.MethodPost}, of, nil, "cancel")
}

// MoveCampaign moves the messages of a campaign that are not sent yet by a length of time, at
// most 366 days; a negative one moves to earlier times. It yields the refused messages, which
// keep their places, and what was done, as ResumeCampaign does. Called again with the same
// length after it stopped early, it goes on, and moves no message twice; after it ended it
// moves the campaign again. So it is not retried if its answer got lost: look first.
//
// The error is a *Refusal with CodeCampaignRunning if somebody else moves the campaign. It
// takes ten seconds to find that out, so Options.Timeout must be longer.
func (c *Client) MoveCampaign(ctx context.Context, of CampaignName, by time.Duration) iter.Seq2[CampaignEvent, error] {
	what := call{doing: "moving a campaign", method: http.MethodPost, once: true}
	return c.campaignWork(ctx, what, of, message.CampaignMoveDraft{By: by.String()}, "move")
}

// PreviewCampaignMove yields what MoveCampaign would do: each message is judged as if it alone
// were moved. It changes nothing.
func (c *Client) PreviewCampaignMove(ctx context.Context, of CampaignName, by time.Duration) iter.Seq2[CampaignEvent, error] {
	what := call{doing: "previewing the move of a campaign", method: http.MethodPost}
	return c.campaignWork(ctx, what, of, message.CampaignMoveDraft{By: by.String(), Preview: true}, "move")
}

// campaignStatus makes a call whose answer is a count, which goes on with more; "" begins one.
func (c *Client) campaignStatus(ctx context.Context, what call, of CampaignName, more string, below ...string) (CampaignStatus, error) {
	var status CampaignStatus
	what, err := what.ofCampaign(of, nil, below...)
	if err != nil {
		return status, err
	}
	if more != "" {
		what.query.Set("more", more)
	}
	err = c.do(ctx, what, &status)
	return status, err
}

// campaignWork yields the events of work on a campaign.
func (c *Client) campaignWork(ctx context.Context, what call, of CampaignName, body any, below string) iter.Seq2[CampaignEvent, error] {
	return func(yield func(CampaignEvent, error) bool) {
		what, err := what.ofCampaign(of, body, below)
		if err != nil {
			yield(CampaignEvent{}, err)
			return
		}
		yieldEvents(ctx, c, what, yield, func(outcome string, line []byte) (event CampaignEvent, summary bool, err error) {
			switch outcome {
			case message.CampaignProgressing:
				err = json.Unmarshal(line, &event.Progress)
			case message.CampaignCancelled, message.CampaignMoved, message.CampaignPreviewed, message.CampaignResumed:
				summary = true
				err = json.Unmarshal(line, &event.Summary)
			case message.Refused:
				var o message.Outcome
				err = json.Unmarshal(line, &o)
				event.Refused = refusalOf(o)
			default:
				err = errUnknownKind
			}
			return event, summary, err
		})
	}
}

// ofCampaign returns the call with the path of a campaign, or of something below it, and a
// body.
func (what call) ofCampaign(of CampaignName, body any, below ...string) (call, error) {
	if of.Name == "" {
		return what, fmt.Errorf("%s: %w", what.doing, invalid("campaign", "is missing"))
	}
	what.path = strings.Join(append([]string{"/v1/campaigns", segment(of.Name)}, below...), "/")
	what.query = values("account", of.Account)
	return what.with(body)
}
