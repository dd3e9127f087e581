package campaign

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// run is one call that works on all messages of a campaign.
type run struct {
	*Campaigns

	of      Campaign
	watcher Watcher
	total   int

	mu      sync.Mutex // of summary and of calls of watcher.Refused
	summary message.CampaignSummary
}

func (c *Campaigns) newRun(outcome string, of Campaign, w Watcher) *run {
	return &run{Campaigns: c, of: of, watcher: w, summary: message.CampaignSummary{
		Outcome: outcome, Campaign: of.Name, Account: of.Account, RefusedBy: map[string]int{},
	}}
}

// countDuring counts the messages for the progress, and returns no sooner than after a time: other
// programs know then that the campaign has ended, or is no longer paused.
func (r *run) countDuring(ctx context.Context, lag time.Duration) error {
	began := r.clock.Local()
	if err := r.count(ctx); err != nil {
		return err
	}
	if !storeclock.Sleep(ctx, nil, lag-r.clock.Local().Sub(began)) {
		return fmt.Errorf("waiting until every program knows it: %w", ctx.Err())
	}
	return nil
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

// atOnce is how many messages of a page are handled at a time.
const atOnce = 8

// all calls do with each message, some at a time. Messages that were accepted meanwhile add to the
// total. After an error it begins no more, and those that it has begun are in the summary.
func (r *run) all(ctx context.Context, do func(context.Context, messages.Info) error) (message.CampaignSummary, error) {
	err := r.each(ctx, r.of, onPage, func(found []messages.Info) error {
		var doing errgroup.Group
		var failed atomic.Bool
		doing.SetLimit(atOnce)
		for _, s := range found {
			if failed.Load() {
				break
			}
			doing.Go(func() error {
				if err := do(ctx, s); err != nil {
					failed.Store(true)
					return err
				}
				r.counted(func(sum *message.CampaignSummary) { sum.Messages++ })
				return nil
			})
		}
		if err := doing.Wait(); err != nil {
			return err
		}
		r.total = max(r.total, r.summary.Messages)
		r.watcher.progress(r.summary.Messages, r.total)
		return nil
	})
	r.summary.Complete = err == nil
	return r.summary, err
}

// counted changes the summary.
func (r *run) counted(change func(*message.CampaignSummary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.summary)
}

// tell counts the outcome of a message, and calls the watcher with a refusal.
func (r *run) tell(o message.Outcome) error {
	r.mu.Lock()
	defer r.mu.Unlock()
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
