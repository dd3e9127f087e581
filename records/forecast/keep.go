package forecast

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The rest after a count, as a multiple of the time of its calls. The near count needs at most
// 1/300 of the store's time, the later count 1/700: together less than 0.5 %, however many messages
// are pending.
const (
	nearFactor  = 300
	laterFactor = 700
	nearLeast   = 5 * time.Second
	laterLeast  = time.Minute
)

// keptFor is how long the last forecast is kept.
const keptFor = time.Hour

// NearRest returns the rest after a near count.
func NearRest(took time.Duration) time.Duration { return max(nearFactor*took, nearLeast) }

// LaterRest returns the rest after a later count.
func LaterRest(took time.Duration) time.Duration { return max(laterFactor*took, laterLeast) }

// Keep makes a near count and stores it for Latest, if it is the caller's turn: no other caller
// counts, and the rest after the last count is over. Then it counts the later hours, too, if their
// rest is over. It reports whether the near count is stored; the error may concern only the later
// hours. A zero now means the store's clock.
func (f *Forecasts) Keep(ctx context.Context, now time.Time) (kept bool, failed error) {
	near := &turn{client: f.client, key: f.keys.Turn(keyspace.WorkForecast)}
	mine, err := near.take(ctx, f.local())
	if err != nil || !mine {
		return false, err
	}
	c := &counting{Forecasts: f, turn: near}
	failed = c.near(ctx, now)
	rest := NearRest(c.took)
	if failed == nil {
		counted := c.tally.forecast(c.took)
		var last Later
		last, failed = f.storeNear(ctx, counted)
		if kept = failed == nil; kept {
			failed = f.keepLater(ctx, near, counted, last)
		}
	}
	return kept, errors.Join(failed, near.rest(ctx, rest))
}

// storeNear stores a near count together with the stored later hours, and returns these.
func (f *Forecasts) storeNear(ctx context.Context, near Forecast) (Later, error) {
	_, later, _, err := f.read(ctx) // nobody else writes during the turn
	if err != nil && !errors.Is(err, fault.ErrReply) {
		return Later{}, err
	}
	return later, f.write(ctx, near, later)
}

// keepLater counts and stores the later hours, if their rest is over. It also does so if the clock
// was set back.
func (f *Forecasts) keepLater(ctx context.Context, own *turn, near Forecast, last Later) error {
	if rested := near.At.Sub(last.At); rested >= 0 && rested < last.Took+LaterRest(last.Took) {
		return nil
	}
	c := &counting{Forecasts: f, turn: own}
	if err := c.later(ctx, near.At); err != nil {
		return err
	}
	return f.write(ctx, near, c.tally.laterHours(c.took))
}

func (f *Forecasts) write(ctx context.Context, near Forecast, later Later) error {
	err := f.client.Set(ctx, f.keys.Forecast(), encode(near, later), keptFor).Err()
	return store.Explain(err, "storing what is due when")
}

// Latest returns the last forecast of Keep; ok is false if there is none, or it is older than an
// hour.
func (f *Forecasts) Latest(ctx context.Context) (_ Forecast, ok bool, err error) {
	near, later, ok, err := f.read(ctx)
	if err != nil || !ok || later.At.IsZero() {
		return near, ok, err
	}
	return near.WithLater(later), true, nil
}

func (f *Forecasts) read(ctx context.Context) (near Forecast, later Later, ok bool, err error) {
	const doing = "reading what is due when"
	text, err := f.client.Get(ctx, f.keys.Forecast()).Bytes()
	if errors.Is(err, redis.Nil) {
		return Forecast{}, Later{}, false, nil
	}
	if err != nil {
		return Forecast{}, Later{}, false, store.Explain(err, doing)
	}
	if near, later, err = decode(text); err != nil {
		return Forecast{}, Later{}, false, script.ReplyError(doing, "it is not in the form of this program")
	}
	return near, later, true, nil
}
