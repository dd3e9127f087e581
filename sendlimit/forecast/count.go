package forecast

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Forecasts counts how many pending messages are due when. It is safe for concurrent use.
type Forecasts struct {
	client  redis.UniversalClient
	keys    keyspace.Keys
	horizon time.Duration
	local   func() time.Time // of this machine, to measure calls
}

// New returns Forecasts of the messages of a Timeline that has the same Options. The error
// is an *fault.InvalidError.
func New(client redis.UniversalClient, o sendlimit.Options) (*Forecasts, error) {
	o = o.WithDefaults()
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	local := time.Now //nolint:forbidigo // measures calls, judges nothing
	return &Forecasts{client: client, keys: keys, horizon: o.Horizon, local: local}, nil
}

const doing = "counting what is due when"

const (
	// readAtOnce is about how many entries of far lists a call of the script reads. It takes
	// the store less than a millisecond.
	readAtOnce = 1000
	// partitionsAtOnce is the most partitions with few entries that are read in a round trip.
	partitionsAtOnce = 8
	// nearAtOnce is how many entries of a near list are read at a time.
	nearAtOnce = 1000
	// recordsAtOnce is how many records are read in a round trip.
	recordsAtOnce = 500
)

// Count counts all pending messages. A zero now means the store's clock. The error is a
// *fault.UnavailableError or a fault.ErrReply; with it, the Forecast says only how long the
// calls took.
func (f *Forecasts) Count(ctx context.Context, now time.Time) (Forecast, error) {
	c := &counting{Forecasts: f}
	err := c.run(ctx, now)
	if err != nil {
		return Forecast{Took: c.took}, err
	}
	return c.tally.forecast(c.took), nil
}

// counting is a count under way.
type counting struct {
	*Forecasts

	tally *tally
	took  time.Duration
}

func (c *counting) run(ctx context.Context, now time.Time) error {
	if now.IsZero() {
		err := c.timed(func() (err error) {
			now, err = c.client.Time(ctx).Result()
			return store.Explain(err, doing)
		})
		if err != nil {
			return err
		}
	}
	c.tally = newTally(now)
	// Entries move from the far lists to the near list: this order misses none.
	if err := c.countFar(ctx); err != nil {
		return err
	}
	return c.countNear(ctx)
}

// timed does calls of the store, and adds how long they took.
func (c *counting) timed(calls func() error) error {
	began := c.local()
	defer func() { c.took += c.local().Sub(began) }()
	return calls()
}

// occupied returns the partitions in which one of some keys exists.
func (c *counting) occupied(ctx context.Context, keys func(partition int) []string) (partitions []int, err error) {
	err = c.timed(func() error {
		partitions, err = script.Occupied(ctx, c.client, doing, keys)
		return err
	})
	return partitions, err
}

func (c *counting) farLists(partition int) []string {
	return c.keys.WatchLists(partition)[:keyspace.FarLists]
}

// countFar counts the messages in far lists.
func (c *counting) countFar(ctx context.Context) error {
	partitions, err := c.occupied(ctx, c.farLists)
	if err != nil {
		return err
	}
	parts := make([]farPart, len(partitions))
	for i, partition := range partitions {
		parts[i] = farPart{partition: partition, list: 1, from: ""}
	}
	for together := 1; len(parts) > 0; {
		some := parts[:min(together, len(parts))]
		parts = parts[len(some):]
		entries := int64(0)
		if err := c.timed(func() error { return c.callFar(ctx, some) }); err != nil {
			return err
		}
		for i := range some {
			more, read, err := c.addFar(&some[i])
			if err != nil {
				return err
			}
			entries += read
			if more {
				parts = append(parts, some[i])
			}
		}
		// What these partitions have tells what the next ones have.
		each := max(1, int(entries)/len(some))
		together = min(max(1, readAtOnce/each), partitionsAtOnce)
	}
	return nil
}

// farPart is the rest of the far lists of a partition.
type farPart struct {
	partition int
	list      int64
	from      any
	answer    script.Reply
}

// callFar calls the script for some partitions in one round trip.
func (c *counting) callFar(ctx context.Context, parts []farPart) error {
	args := func(p farPart) []any {
		return []any{c.tally.now, c.horizon.Milliseconds(), p.list, p.from, readAtOnce}
	}
	answers := make([]*redis.Cmd, len(parts))
	if len(parts) > 1 {
		_, _ = c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each answer has its own error
			for i, p := range parts {
				answers[i] = lua.ForecastFar.EvalSha(ctx, pipe, c.farLists(p.partition), args(p)...)
			}
			return nil
		})
	}
	for i := range parts {
		p := &parts[i]
		if answers[i] != nil && answers[i].Err() == nil {
			p.answer, _ = answers[i].Val().([]any)
			continue
		}
		// It is alone, the store does not know the script, or moves the slot.
		answer, err := script.Run(ctx, c.client, lua.ForecastFar, doing, c.farLists(p.partition), args(*p))
		if err != nil {
			return err
		}
		p.answer = answer
	}
	return nil
}

// addFar adds what a call found. It reports whether the partition has more, and how many
// entries were read.
func (c *counting) addFar(p *farPart) (more bool, read int64, err error) {
	in := script.Read(p.answer, doing)
	list, from := in.Int(0), in.Int(1)
	read = in.Int(2)
	c.addPairs(in, 3, func(number, messages int64) {
		if !c.tally.addMinute(number, messages) {
			in.Fail(3, "list of minutes")
		}
	})
	c.addPairs(in, 4, c.tally.addHour)
	p.list, p.from = list, from
	if from == 0 {
		p.from = ""
	}
	return list > 0, read, in.Err
}

// addPairs reads pairs of a number and how many messages it has.
func (c *counting) addPairs(in *script.ReplyReader, element int, add func(number, messages int64)) {
	pairs := in.Nested(element)
	for i := 0; i < len(pairs.Reply) && pairs.Err == nil; i += 2 {
		number, messages := pairs.Int(i), pairs.Int(i+1)
		if pairs.Err == nil {
			add(number, messages)
		}
	}
	in.Absorb(pairs)
}
