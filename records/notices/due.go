package notices

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Due is a notice that was not settled or confirmed in time.
type Due struct {
	ID    string
	Since time.Time // when it became due
}

// Due lists the notices that are due at now, oldest first, at most perPartition of each partition,
// in a few round trips. It skips entries that it can't read, such as those of a newer program, and
// returns how many. With an error it still returns what it could read, such as the entries of a
// cluster's other masters.
func (n *Outbox) Due(ctx context.Context, now time.Time, perPartition int) (due []Due, unreadable int, failed error) {
	const doing = "reading the outbox of notices"
	unreadable, failed = script.EachDue(ctx, n.client, doing, n.keys.Notices, now, n.options.Ahead, perPartition,
		func(_ int, id string, since time.Time) bool {
			_, ok := ParseID(id)
			if ok {
				due = append(due, Due{ID: id, Since: since})
			}
			return ok
		})
	slices.SortStableFunc(due, func(a, b Due) int { return a.Since.Compare(b.Since) })
	return due, unreadable, failed
}

// Queued is a notice in the queue.
type Queued struct {
	ID  string
	Due time.Time
}

// Confirm notes that the queue has these notices: they are not due until Options.OverdueAfter past
// their time. It does not change an ended notice, and a claimed one is not due before its lease
// ends. It takes one round trip.
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
			pipe.ZAddArgs(ctx, n.keys.Notices(keyspace.Partition(notices[i].Owner())), redis.ZAddArgs{
				XX: true, GT: true,
				Members: []redis.Z{{Score: float64(q.Due.Add(n.options.OverdueAfter).UnixMilli()), Member: q.ID}},
			})
		}
		return nil
	})
	return store.Explain(err, "confirming queued notices")
}
