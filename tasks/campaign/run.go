package campaign

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// run is one call that works on all messages of a campaign.
type run struct {
	*Campaigns

	of      Campaign
	watcher Watcher
	summary message.CampaignSummary
	total   int
}

func (c *Campaigns) newRun(outcome string, of Campaign, w Watcher) *run {
	return &run{Campaigns: c, of: of, watcher: w, summary: message.CampaignSummary{
		Outcome: outcome, Campaign: of.Name, Account: of.Account, RefusedBy: map[string]int{},
	}}
}

// count counts the messages for the progress. It also returns the error of an invalid name.
func (r *run) count(ctx context.Context) error {
	if _, err := r.pauses.Since(ctx, r.of); err != nil {
		return err
	}
	return r.each(ctx, r.of, find.MaxPage, func(found []messages.Info) error {
		r.total += len(found)
		r.watcher.progress(r.summary.Messages, r.total)
		return nil
	})
}

// all calls do with each message. Messages that were accepted meanwhile add to the total.
func (r *run) all(ctx context.Context, do func(messages.Info) error) (message.CampaignSummary, error) {
	err := r.each(ctx, r.of, onPage, func(found []messages.Info) error {
		for _, s := range found {
			if err := do(s); err != nil {
				return err
			}
			r.summary.Messages++
		}
		r.total = max(r.total, r.summary.Messages)
		r.watcher.progress(r.summary.Messages, r.total)
		return nil
	})
	r.summary.Complete = err == nil
	return r.summary, err
}

// tell counts the outcome of a message, and calls the watcher with a refusal.
func (r *run) tell(o message.Outcome) error {
	switch {
	case o.OK():
		r.summary.Done++
	case o.Code == fault.CodeTooLate, o.Code == fault.CodeNotFound, o.Code == submit.CodeElsewhere:
		r.summary.Gone++
	default:
		r.summary.Refused++
		why := o.RefusedBy()
		if why == "" {
			why = string(o.Code)
		}
		r.summary.RefusedBy[why]++
		return r.watcher.refused(o)
	}
	return nil
}
