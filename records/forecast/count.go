package forecast

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Forecasts counts pending messages by send time. It is safe for concurrent use.
type Forecasts struct {
	client  redis.UniversalClient
	keys    keyspace.Keys
	horizon time.Duration
	local   func() time.Time // this machine's clock, to measure calls
	looks   looks
}

// New returns the Forecasts of a Timeline with the same Options. The error is an
// *fault.InvalidError.
func New(client redis.UniversalClient, o sendlimit.Options) (*Forecasts, error) {
	o, keys, err := o.Complete()
	if err != nil {
		return nil, err
	}
	local := time.Now //nolint:names // measures calls, judges nothing
	return &Forecasts{client: client, keys: keys, horizon: o.Horizon, local: local}, nil
}

const doing = "counting what is due when"

// CountNear counts the messages due until the end of Forecast.Hours, and all pending messages. The
// Forecast has no later hours: see Forecast.WithLater. A zero now means the store's clock. The
// error is a *fault.UnavailableError or a fault.ErrReply; then the Forecast has only Took.
func (f *Forecasts) CountNear(ctx context.Context, now time.Time) (Forecast, error) {
	c := &counting{Forecasts: f}
	err := c.near(ctx, now)
	if err != nil {
		return Forecast{Took: c.took}, err
	}
	return c.tally.forecast(c.took), nil
}

// CountLater counts the messages due after that. Now and the error are as for CountNear.
func (f *Forecasts) CountLater(ctx context.Context, now time.Time) (Later, error) {
	c := &counting{Forecasts: f}
	err := c.later(ctx, now)
	if err != nil {
		return Later{Took: c.took}, err
	}
	return c.tally.laterHours(c.took), nil
}

// counting is a running count.
type counting struct {
	*Forecasts

	tally *tally
	span  span
	took  time.Duration
	turn  *turn // to renew; may be nil
}

// span is a span of due times, Unix ms. Zero means no bound.
type span struct{ from, until int64 }

func (c *counting) near(ctx context.Context, now time.Time) error {
	if err := c.begin(ctx, now); err != nil {
		return err
	}
	c.span.until = c.tally.nearEnd()
	// Entries move from the far lists to the near list, so this order misses none.
	if err := c.countFar(ctx); err != nil {
		return err
	}
	return c.countNear(ctx)
}

func (c *counting) later(ctx context.Context, now time.Time) error {
	if err := c.begin(ctx, now); err != nil {
		return err
	}
	// The near count may have used a node of a cluster whose clock is behind, and so end an hour
	// earlier. WithLater uses each hour once.
	c.span.from = c.tally.nearEnd() - time.Hour.Milliseconds()
	return c.countFar(ctx)
}

func (c *counting) begin(ctx context.Context, now time.Time) error {
	if now.IsZero() {
		err := c.timed(ctx, func() (err error) {
			now, err = c.client.Time(ctx).Result()
			return store.Explain(err, doing)
		})
		if err != nil {
			return err
		}
	}
	c.tally = newTally(now)
	return nil
}

// timed runs calls of the store, and adds their time.
func (c *counting) timed(ctx context.Context, calls func() error) error {
	began := c.local()
	defer func() { c.took += c.local().Sub(began) }()
	if err := c.turn.renew(ctx, began); err != nil {
		return err
	}
	return calls()
}

// occupied returns the partitions in which one of the keys exists.
func (c *counting) occupied(ctx context.Context, keys func(partition int) []string) (partitions []int, err error) {
	err = c.timed(ctx, func() error {
		partitions, err = script.Occupied(ctx, c.client, doing, keys)
		return err
	})
	return partitions, err
}
