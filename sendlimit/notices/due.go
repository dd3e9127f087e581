package notices

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Due is a notice that nobody settled or confirmed in time.
type Due struct {
	ID    string
	Since time.Time // when it became due
}

// Due lists the notices that are due at now, oldest first, at most perPartition
// of each partition, in a few round trips. Beside an error it returns what it
// could read, such as what the other masters of a cluster have.
func (n *Outbox) Due(ctx context.Context, now time.Time, perPartition int) ([]Due, error) {
	const doing = "reading the outbox of notices"
	if perPartition < 1 {
		return nil, &fault.InvalidError{Field: "per_partition", Value: strconv.Itoa(perPartition), Want: "at least 1"}
	}
	span := redis.ZRangeArgs{Start: "-inf", Stop: now.UnixMilli(), ByScore: true, Count: int64(perPartition)}
	var due []Due
	failed := script.EachPartition(ctx, n.client, doing, n.keys.Notices, span, func(_ int, entry redis.Z) {
		// Something else than an id may be a newer program's, which looks after it.
		id, _ := entry.Member.(string)
		if _, ok := ParseID(id); ok {
			due = append(due, Due{ID: id, Since: time.UnixMilli(int64(entry.Score)).UTC()})
		}
	})
	slices.SortStableFunc(due, func(a, b Due) int { return a.Since.Compare(b.Since) })
	return due, failed
}

// Queued is a notice that the queue has taken.
type Queued struct {
	ID  string
	Due time.Time
}

// Confirm notes that the queue has these notices: they are not due until
// Options.OverdueAfter past their time. It does not change a notice that ended,
// and one that a delivery has is not due before its lease ends. It takes one
// round trip for all.
func (n *Outbox) Confirm(ctx context.Context, queued ...Queued) error {
	notices := make([]Notice, len(queued))
	for i, q := range queued {
		var err error
		if notices[i], err = parseNotice(q.ID); err != nil {
			return err
		}
	}
	_, err := n.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, q := range queued {
			pipe.ZAddArgs(ctx, n.keys.Notices(keyspace.Partition(notices[i].owner())), redis.ZAddArgs{
				XX: true, GT: true,
				Members: []redis.Z{{Score: float64(q.Due.Add(n.options.OverdueAfter).UnixMilli()), Member: q.ID}},
			})
		}
		return nil
	})
	return store.Explain(err, "confirming queued notices")
}
