package ended

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// lookEvery is how old a look may be when it is used.
	lookEvery = time.Second
	// validFor is how long after a look a place may be taken, by the store's clock. The rest of
	// messages.EndLag is for the inaccuracy of that clock.
	validFor = 2 * time.Second
	// maxKnown bounds the number of known campaigns.
	maxKnown = 10_000
)

// Campaigns says which campaigns have ended. It is safe for concurrent use.
type Campaigns struct {
	ends  *messages.Ends
	clock *storeclock.Clocks

	mu    sync.Mutex
	known map[messages.Campaign]look
}

type look struct {
	began time.Time // by the store's main clock
	local time.Time // the same, by the local clock
	since time.Time // when it ended; zero if it has not
}

// New returns the ended campaigns of a store.
func New(client redis.Cmdable, keys keyspace.Keys, clock *storeclock.Clocks) *Campaigns {
	return &Campaigns{ends: messages.NewEnds(client, keys), clock: clock, known: map[messages.Campaign]look{}}
}

// Check returns a *messages.EndedError if a campaign has ended. Without a name it returns nil.
func (c *Campaigns) Check(ctx context.Context, of messages.Campaign) error {
	_, err := c.valid(ctx, of)
	return err
}

// Valid returns the Valid of a sendlimit.Request for a message of a campaign. Without a name it
// returns nil.
func (c *Campaigns) Valid(of messages.Campaign) func(context.Context) (time.Time, error) {
	if of.Name == "" {
		return nil
	}
	return func(ctx context.Context) (time.Time, error) { return c.valid(ctx, of) }
}

func (c *Campaigns) valid(ctx context.Context, of messages.Campaign) (until time.Time, err error) {
	if of.Name == "" {
		return time.Time{}, nil
	}
	seen, err := c.look(ctx, of)
	if err != nil {
		return time.Time{}, err
	}
	if !seen.since.IsZero() {
		return time.Time{}, &messages.EndedError{Campaign: of.Name, Since: seen.since}
	}
	return seen.began.Add(validFor), nil
}

// look returns the last look at a campaign, or makes a new one.
func (c *Campaigns) look(ctx context.Context, of messages.Campaign) (look, error) {
	now := look{began: c.clock.Now(), local: c.clock.Local()}
	c.mu.Lock()
	seen, ok := c.known[of]
	c.mu.Unlock()
	if ok && now.local.Sub(seen.local) < lookEvery {
		return seen, nil
	}
	var err error
	if now.since, err = c.ends.Since(ctx, of); err != nil {
		return look{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[of] = now
	return now, nil
}
