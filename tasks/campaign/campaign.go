package campaign

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Campaign is the name of a campaign and its account, "" without accounts.
type Campaign = messages.Campaign

// Campaigns works on the messages of campaigns. It is safe for concurrent use.
type Campaigns struct {
	index   *find.Index
	client  redis.Scripter
	keys    keyspace.Keys
	pauses  *messages.Pauses
	ends    *messages.Ends
	records *messages.Records
	clock   *storeclock.Clock
}

// New returns the campaigns of a backend.
func New(b *backend.Backend) *Campaigns {
	return &Campaigns{
		client: b.Client, keys: b.Keys, index: find.NewIndex(b.Client, b.Keys, b.Timeline.WithoutIndex), clock: storeclock.New(),
		pauses: messages.NewPauses(b.Client, b.Keys), ends: messages.NewEnds(b.Client, b.Keys), records: messages.NewRecords(b.Client, b.Keys),
	}
}

// Watcher receives the progress. Either function may be nil.
type Watcher struct {
	// Refused is called for each message that keeps its place, one call at a time. Its error ends the
	// run.
	Refused func(message.Outcome) error
	// Progress is called with how many messages are done, including those of an earlier run: after
	// each page of the count at the start, while total grows, and after each page of work.
	Progress func(done, total int)
}

func (w Watcher) refused(o message.Outcome) error {
	if w.Refused == nil {
		return nil
	}
	return w.Refused(o)
}

func (w Watcher) progress(done, total int) {
	if w.Progress != nil {
		w.Progress(done, total)
	}
}

// onPage is how many messages are read and handled at a time.
const onPage = 50

// each calls do with the messages of a campaign, page by page, and rests after each page for
// as long as it took.
func (c *Campaigns) each(ctx context.Context, of Campaign, size int, do func(found []messages.Info) error) error {
	_, err := c.pages(ctx, of, "", size, func(found []messages.Info) (bool, error) { return true, do(found) })
	return err
}

// pages is each from a cursor on. It ends when do returns false, and returns the
// cursor of the next page, "" at the end.
func (c *Campaigns) pages(
	ctx context.Context, of Campaign, cursor string, size int, do func(found []messages.Info) (goOn bool, err error),
) (next string, err error) {
	filter := find.Filter{Account: of.Account, Campaign: of.Name}
	for {
		began := c.clock.Local()
		page, err := c.index.Page(ctx, filter, cursor, size)
		if err != nil {
			return "", err
		}
		goOn, err := do(ofAccount(page.Messages, of))
		if cursor = page.Next; err != nil || cursor == "" || !goOn {
			return cursor, err
		}
		if err := job.Rest(ctx, c.clock.Local().Sub(began)); err != nil {
			return "", err
		}
	}
}

// ofAccount leaves out messages of other accounts: a filter without an account finds them too.
func ofAccount(found []messages.Info, of Campaign) []messages.Info {
	return slices.DeleteFunc(found, func(s messages.Info) bool { return s.Account != of.Account })
}

// List calls do with the status of each message of a campaign, in no defined order. An error of do
// ends it.
func (c *Campaigns) List(ctx context.Context, of Campaign, do func(message.Status) error) error {
	return c.each(ctx, of, find.MaxPage, func(found []messages.Info) error {
		for _, s := range found {
			if err := do(submit.StatusOf(s)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pause pauses a campaign, and counts its messages. It takes effect within messages.PauseLag.
// Messages that are being sent are not stopped. The error is a *fault.NoSuchError for a campaign
// without messages, unless it is paused already: the number of pauses is limited.
func (c *Campaigns) Pause(ctx context.Context, of Campaign, how Counting) (message.CampaignStatus, error) {
	since, err := c.pauses.Since(ctx, of)
	if err != nil {
		return message.CampaignStatus{}, err
	}
	if since.IsZero() {
		if err := c.checkNotEmpty(ctx, of); err != nil {
			return message.CampaignStatus{}, err
		}
	}
	if _, err := c.pauses.Pause(ctx, of, time.Time{}); err != nil {
		return message.CampaignStatus{}, err
	}
	return c.Count(ctx, of, how)
}

// checkNotEmpty returns an error if a campaign has no messages.
func (c *Campaigns) checkNotEmpty(ctx context.Context, of Campaign) error {
	empty := true
	_, err := c.pages(ctx, of, "", 1, func(found []messages.Info) (bool, error) {
		empty = empty && len(found) == 0
		return empty, nil
	})
	if err == nil && empty {
		err = &fault.NoSuchError{What: "campaign", Name: of.Name}
	}
	return err
}

// Resume ends the pause of a campaign. After messages.PauseLag, it begins to release the waiting
// messages, which are sent as late ones. It can be called again at any time. If it is stopped, the
// remaining messages are sent within an hour.
func (c *Campaigns) Resume(ctx context.Context, of Campaign, w Watcher) (message.CampaignSummary, error) {
	r := c.newRun(message.CampaignResumed, of, w)
	if _, err := c.pauses.Resume(ctx, of); err != nil {
		return r.summary, err
	}
	if err := r.countDuring(ctx, messages.PauseLag); err != nil {
		return r.summary, err
	}
	return r.all(ctx, func(ctx context.Context, s messages.Info) error {
		if s.State != messages.StatePending || s.Reason != messages.ReasonPaused {
			return nil
		}
		resumed, err := c.pauses.ResumeMessage(ctx, s.User, s.ID, keyspace.NewToken(), time.Time{})
		if resumed {
			r.counted(func(sum *message.CampaignSummary) { sum.Done++ })
		}
		return err
	})
}

// DryRun is a dry run of Move: it judges each message as if only that one were
// moved. It writes nothing.
func (c *Campaigns) DryRun(
	ctx context.Context, s *submit.Submitter, of Campaign, by time.Duration, w Watcher,
) (message.CampaignSummary, error) {
	r := c.newRun(message.CampaignDryRun, of, w)
	r.summary.By = by.String()
	if err := message.CheckCampaignMove(by); err != nil {
		return r.summary, err
	}
	if err := r.count(ctx); err != nil {
		return r.summary, err
	}
	return r.all(ctx, func(ctx context.Context, found messages.Info) error {
		if found.State != messages.StatePending {
			return nil
		}
		o, err := s.CheckMove(ctx, found.User, found.ID, found.SendAt.Add(by))
		if err != nil {
			return err
		}
		return r.tell(o)
	})
}

// RunningError is returned if another program moves the campaign.
type RunningError struct{ Campaign string }

// Error names the campaign.
func (e *RunningError) Error() string {
	return fmt.Sprintf("campaign %q is being moved by another program right now: wait for that to end, or stop it and try again", e.Campaign)
}

// Code returns fault.CodeCampaignRunning.
func (e *RunningError) Code() fault.Code { return fault.CodeCampaignRunning }
