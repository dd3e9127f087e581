package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// lookAgain is how often Cancel looks at messages that were being sent.
const lookAgain = time.Second

// Cancel ends a campaign. From messages.EndLag after the call on, nothing is accepted for it. Then
// Cancel cancels its pending messages. It waits for those being sent, and cancels one
// that failed and has reached no device. It can be stopped, and called again.
//
// The error is a *fault.NoSuchError for a campaign without messages, unless it has ended already:
// an account's messages limit how many campaigns it can end.
func (c *Campaigns) Cancel(ctx context.Context, by *submit.Submitter, of Campaign, w Watcher) (message.CampaignSummary, error) {
	r := c.newRun(message.CampaignCancelled, of, w)
	if err := c.end(ctx, of); err != nil {
		return r.summary, err
	}
	if err := r.countDuring(ctx, messages.EndLag); err != nil {
		return r.summary, err
	}
	var sending []messages.Info
	summary, err := r.all(ctx, func(ctx context.Context, s messages.Info) error {
		switch s.State {
		case messages.StatePending:
			return r.cancel(ctx, by, s)
		case messages.StateSending:
			r.mu.Lock()
			defer r.mu.Unlock()
			sending = append(sending, s)
		default: // it has ended
		}
		return nil
	})
	for _, s := range sending {
		if err == nil {
			err = r.cancelFailed(ctx, by, s)
		}
	}
	r.summary.Complete = summary.Complete && err == nil
	return r.summary, err
}

// end marks a campaign as ended.
func (c *Campaigns) end(ctx context.Context, of Campaign) error {
	since, err := c.ends.Since(ctx, of)
	if err != nil || !since.IsZero() {
		return err
	}
	if err := c.checkNotEmpty(ctx, of); err != nil {
		return err
	}
	_, err = c.ends.End(ctx, of)
	return err
}

// cancel cancels a pending message.
func (r *run) cancel(ctx context.Context, by *submit.Submitter, s messages.Info) error {
	o, err := by.Cancel(ctx, s.User, s.ID)
	if err != nil {
		return err
	}
	return r.tell(o)
}

// cancelFailed waits until a message is no longer being sent, and cancels it if it will be tried
// again.
func (r *run) cancelFailed(ctx context.Context, by *submit.Submitter, s messages.Info) error {
	for {
		found, err := r.records.Look(ctx, s.User, s.ID)
		if err != nil {
			return err
		}
		switch found[0].State {
		case messages.StatePending:
			return r.cancel(ctx, by, s)
		case messages.StateSending:
		default:
			return nil
		}
		if !storeclock.Sleep(ctx, nil, lookAgain) {
			return fmt.Errorf("waiting for a message that is being sent: %w", ctx.Err())
		}
	}
}

// Reopen lets a campaign have messages again, and counts its messages. It takes effect within
// messages.EndLag. A second call changes nothing.
func (c *Campaigns) Reopen(ctx context.Context, of Campaign, how Counting) (message.CampaignStatus, error) {
	if _, err := c.ends.Reopen(ctx, of); err != nil {
		return message.CampaignStatus{}, err
	}
	return c.Count(ctx, of, how)
}
