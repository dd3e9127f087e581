package forecast

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	// readAtOnce is about how many entries of far lists a call of the script reads, in less than a
	// millisecond of the store's time.
	readAtOnce = 1000
	// partitionsAtOnce is the maximum number of partitions with few entries in a round trip.
	partitionsAtOnce = 8
)

func (c *counting) farLists(partition int) []string {
	return c.keys.WatchLists(partition)[:keyspace.FarLists]
}

// countFar counts the messages in far lists that are due within the span, and those due after it.
func (c *counting) countFar(ctx context.Context) error {
	partitions, err := c.occupied(ctx, c.farLists)
	if err != nil {
		return err
	}
	parts := make([]farPart, len(partitions))
	for i, partition := range partitions {
		parts[i] = farPart{partition: partition, list: 1}
	}
	for together := 1; len(parts) > 0; {
		some := parts[:min(together, len(parts))]
		parts = parts[len(some):]
		entries := int64(0)
		if err := c.timed(ctx, func() error { return c.callFar(ctx, some) }); err != nil {
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
		// The next partitions probably have as many entries as these.
		each := max(1, int(entries)/len(some))
		together = min(max(1, readAtOnce/each), partitionsAtOnce)
	}
	return nil
}

// farPart is the rest of the far lists of a partition.
type farPart struct {
	partition int
	list      int64
	from      int64 // Unix ms; 0 for the beginning of the span
	answer    script.Reply
}

// callFar calls the script for some partitions in one round trip.
func (c *counting) callFar(ctx context.Context, parts []farPart) error {
	args := func(p farPart) []any {
		return []any{
			c.tally.now, c.horizon.Milliseconds(), p.list, optional(p.from), readAtOnce,
			optional(c.span.from), optional(c.span.until),
		}
	}
	answers := make([]*redis.Cmd, len(parts))
	if len(parts) > 1 {
		_, _ = c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each reply has its own error
			for i, p := range parts {
				answers[i] = pipe.EvalSha(ctx, lua.ForecastFar.Hash(), c.farLists(p.partition), args(p)...)
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
		// There is only one, the store does not know the script, or it is moving the slot.
		answer, err := script.Run(ctx, c.client, lua.ForecastFar, doing, c.farLists(p.partition), args(*p))
		if err != nil {
			return err
		}
		p.answer = answer
	}
	return nil
}

// addFar adds the result of a call. It reports whether the partition has more, and how many entries
// were read.
func (c *counting) addFar(p *farPart) (more bool, read int64, err error) {
	in := script.Read(p.answer, doing)
	p.list, p.from = in.Int(0), in.Int(1)
	read = in.Int(2)
	c.addPairs(in, 3, func(number, messages int64) {
		if !c.tally.addMinute(number, messages) {
			in.Fail(3, "list of minutes")
		}
	})
	c.addPairs(in, 4, c.tally.addHour)
	c.tally.later += int(in.Int(5))
	return p.list > 0, read, in.Err
}

// addPairs reads pairs of a number and its messages.
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

// optional returns an optional argument of a script.
func optional(at int64) any {
	if at == 0 {
		return ""
	}
	return at
}
