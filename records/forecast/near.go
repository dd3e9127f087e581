package forecast

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// nearAtOnce is how many entries of a near list are read at once.
	nearAtOnce = 1000
	// recordsAtOnce is how many records a round trip reads.
	recordsAtOnce = 500
)

// countNear counts the messages in near lists.
func (c *counting) countNear(ctx context.Context) error {
	partitions, err := c.occupied(ctx, script.One(c.keys.NearOf))
	if err != nil {
		return err
	}
	var records []string // that were not read yet
	for some := range slices.Chunk(partitions, partitionsAtOnce) {
		parts := make([]nearPart, len(some))
		for i, partition := range some {
			parts[i] = nearPart{key: c.keys.NearOf(partition), seen: make(map[string]bool)}
		}
		for len(parts) > 0 {
			found, err := c.readNear(ctx, parts)
			if err != nil {
				return err
			}
			records = append(records, found...)
			for len(records) >= recordsAtOnce {
				if err := c.addRecords(ctx, records[:recordsAtOnce]); err != nil {
					return err
				}
				records = records[recordsAtOnce:]
			}
			parts = slices.DeleteFunc(parts, func(p nearPart) bool { return p.read == 0 })
		}
	}
	return c.addRecords(ctx, records)
}

// nearPart is the rest of a near list.
type nearPart struct {
	key  string
	next int64           // the next rank
	read int             // entries of the last read; 0 at the end
	seen map[string]bool // since entries may change their ranks between two reads
}

// readNear reads on in near lists, in one round trip, and returns the keys of new records.
func (c *counting) readNear(ctx context.Context, parts []nearPart) (records []string, err error) {
	lists := make([]*redis.StringSliceCmd, len(parts))
	err = c.timed(ctx, func() error {
		_, err := c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, p := range parts {
				lists[i] = pipe.ZRange(ctx, p.key, p.next, p.next+nearAtOnce-1)
			}
			return nil
		})
		return store.Explain(err, doing)
	})
	if err != nil {
		return nil, err
	}
	for i, list := range lists {
		p, members := &parts[i], list.Val()
		for _, member := range members {
			user, id, _, ok := keyspace.ParseWatchMember(member)
			if !ok || p.seen[member] {
				continue
			}
			p.seen[member] = true
			records = append(records, c.keys.Record(user, id))
		}
		p.next += nearAtOnce
		if p.read = len(members); p.read < nearAtOnce {
			p.read = 0
		}
	}
	return records, nil
}

// addRecords reads and adds the send times of messages, in one round trip.
func (c *counting) addRecords(ctx context.Context, records []string) error {
	if len(records) == 0 {
		return nil
	}
	times := make([]*redis.StringCmd, len(records))
	return c.timed(ctx, func() error {
		_, _ = c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each reply has its own error
			for i, record := range records {
				times[i] = pipe.HGet(ctx, record, keyspace.RecordSendAt)
			}
			return nil
		})
		for _, at := range times {
			if err := at.Err(); err != nil && !errors.Is(err, redis.Nil) {
				return store.Explain(err, doing)
			}
			if due, err := at.Int64(); err == nil {
				c.tally.add(due, 1)
			}
		}
		return nil
	})
}
