package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// pausesHold is the greatest age of the paused campaigns that a claim uses. Together with the claim
// it is less than messages.PauseLag.
const pausesHold = 3 * time.Second

// Pauses follows which campaigns are paused.
type Pauses struct {
	client redis.UniversalClient
	store  *messages.Pauses
	clock  *storeclock.Clocks
	logger *slog.Logger
	latest *job.Latest[messages.PausedCampaigns]
}

// NewPauses returns the pauses in a store.
func NewPauses(client redis.UniversalClient, keys keyspace.Keys, c *storeclock.Clocks, logger *slog.Logger) *Pauses {
	return &Pauses{
		client: client, store: messages.NewPauses(client, keys), clock: c, logger: logger,
		latest: job.NewLatest[messages.PausedCampaigns](pausesHold, c.Local),
	}
}

// Follow loads the paused campaigns now, and then in every look until the returned function is called. It
// returns an error if the first load fails.
func (p *Pauses) Follow(ctx context.Context, looks *job.Looks) (stop func(), err error) {
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	return looks.Repeat(ctx, p.look, p.ask, func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			p.logger.DebugContext(ctx, "could not look for paused campaigns", "error", err)
		}
	}), nil
}

func (p *Pauses) look(ctx context.Context) error { return p.ask(ctx, p.client)(ctx, time.Time{}) }

func (p *Pauses) ask(ctx context.Context, client redis.Cmdable) func(context.Context, time.Time) error {
	began := p.clock.Local()
	load := p.store.Ask(ctx, client)
	return func(context.Context, time.Time) error {
		set, err := load()
		if err == nil {
			p.latest.Learn(set, began)
		}
		return err
	}
}

// current returns the paused campaigns. If the store does not answer, it returns the last known ones:
// while their node is away, nobody can pause another campaign.
func (p *Pauses) current(ctx context.Context) messages.PausedCampaigns {
	return p.latest.Get(ctx, func(ctx context.Context) error {
		err := p.look(ctx)
		if err != nil {
			p.logger.DebugContext(ctx, "could not look for paused campaigns: using the last known", "error", err)
		}
		return err
	})
}

// paused returns the paused campaigns for the claim of a message. If there are many, only those of
// the message's account: one account's pauses must not slow down another's claims.
func (h *Handler) paused(ctx context.Context, d messages.Delivery) (messages.PausedCampaigns, error) {
	set := h.Pauses.current(ctx)
	if !set.Large() {
		return set, nil
	}
	found, err := h.Records.Look(ctx, d.User, d.ID)
	if err != nil {
		return messages.PausedCampaigns{}, err
	}
	return set.Of(found[0].Account), nil
}
