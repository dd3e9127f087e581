package deliver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// pausesHold is the greatest age of the paused campaigns that a claim uses. Together with the
	// claim it is less than messages.PauseLag. It is also the pause after a failed look.
	pausesHold = 3 * time.Second
	// pausesWithin is how long a claim waits for a look.
	pausesWithin = 500 * time.Millisecond
)

// Pauses follows which campaigns are paused.
type Pauses struct {
	client redis.UniversalClient
	store  *messages.Pauses
	clock  *storeclock.Clocks
	logger *slog.Logger

	turn chan struct{} // held by the goroutine that asks the store

	mu   sync.Mutex
	set  messages.PausedCampaigns
	seen time.Time // when the last look began, or the last failed one ended, by the local clock
}

// NewPauses returns the pauses in a store.
func NewPauses(client redis.UniversalClient, keys keyspace.Keys, c *storeclock.Clocks, logger *slog.Logger) *Pauses {
	return &Pauses{client: client, store: messages.NewPauses(client, keys), clock: c, logger: logger, turn: make(chan struct{}, 1)}
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
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if began.After(p.seen) {
			p.set, p.seen = set, began
		}
		return nil
	}
}

// known returns the paused campaigns, and whether they are young enough.
func (p *Pauses) known() (messages.PausedCampaigns, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set, p.clock.Local().Sub(p.seen) < pausesHold
}

// current returns the paused campaigns. It loads them if they are old, because the process stood
// still. If the store does not answer, it returns the last known ones: while their node is away,
// nobody can pause another campaign.
func (p *Pauses) current(ctx context.Context) messages.PausedCampaigns {
	set, young := p.known()
	if young {
		return set
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if set, young = p.known(); young {
		return set
	}
	ctx, done := context.WithTimeout(ctx, pausesWithin)
	defer done()
	if err := p.look(ctx); err != nil {
		p.logger.DebugContext(ctx, "could not look for paused campaigns: using the last known", "error", err)
		p.mu.Lock()
		p.seen = p.clock.Local()
		p.mu.Unlock()
	}
	set, _ = p.known()
	return set
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
