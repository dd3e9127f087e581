package messages

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// WatchList has an entry for each message that has not ended, with the time of its next check. It
// is the schedule: a message due after the horizon is here and not in the queue. It also finds
// messages that the queue did not accept, lost timers, and deliveries that no worker settled.
//
// An entry is in the near list or in one of the far lists of its partition. Due reads only the near
// lists; BringNear moves entries there that are due within minutes.
type WatchList struct {
	client  redis.Cmdable
	keys    keyspace.Keys
	fixed   sendlimit.Options // complete
	horizon time.Duration
	look    time.Duration
	overdue time.Duration
	ahead   keyspace.Ahead
}

// NewWatchList returns the watch list of a Timeline with the same Options. The error is an
// *InvalidError.
func NewWatchList(client redis.Cmdable, o sendlimit.Options) (*WatchList, error) {
	o, keys, err := o.Complete()
	if err != nil {
		return nil, err
	}
	return &WatchList{
		client: client, keys: keys, fixed: o, horizon: o.Horizon, look: o.LookAfter, overdue: o.OverdueAfter, ahead: o.Ahead,
	}, nil
}

// Horizon returns how long before its time a message is handed over to the queue.
func (w *WatchList) Horizon() time.Duration { return w.horizon }

// LookAfter returns how long after the accept of a message the relay checks whether the queue has
// it.
func (w *WatchList) LookAfter() time.Duration { return w.look }

// Pending counts the messages that have not ended, in a few round trips and about 10 ms of the
// store's time, in parts.
func (w *WatchList) Pending(ctx context.Context) (int, error) {
	return script.CountPartitions(ctx, w.client, "counting the pending messages", w.keys.WatchLists)
}

// Confirm notes that the queue has these messages. Their entries are due again Options.OverdueAfter
// after the messages are. It creates no entry, so it does nothing for a message that ended or has
// another generation. It takes one round trip.
func (w *WatchList) Confirm(ctx context.Context, queued []sendlimit.Timer) error {
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, q := range queued {
			pipe.ZAddXX(ctx, w.keys.Near(q.User), redis.Z{
				Score:  float64(q.Due.Add(w.overdue).UnixMilli()),
				Member: keyspace.WatchMember(q.User, q.ID, q.Generation),
			})
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, "confirming queued messages")
	}
	return nil
}

// ReadingWatchList begins the errors of Due and of a user's export.
const ReadingWatchList = "reading the watch list"

// Due lists the entries of the near lists that are due at now, oldest first, at most perPartition
// of each partition. It takes a few round trips. It skips entries that it can't read, such as those
// of a newer program, and returns how many. With an error it still returns what could be read, such
// as the entries of a cluster's other masters.
func (w *WatchList) Due(ctx context.Context, now time.Time, perPartition int) (due []sendlimit.Timer, unreadable int, failed error) {
	unreadable, failed = script.EachDue(ctx, w.client, ReadingWatchList, w.keys.NearOf, now, w.ahead, perPartition,
		func(_ int, member string, since time.Time) bool {
			user, id, generation, ok := keyspace.ParseWatchMember(member)
			if ok {
				due = append(due, sendlimit.Timer{User: user, ID: id, Generation: generation, Due: since})
			}
			return ok
		})
	slices.SortStableFunc(due, func(a, b sendlimit.Timer) int { return a.Due.Compare(b.Due) })
	return due, unreadable, failed
}

// Renewal is the outcome of Renew.
type Renewal uint8

// The renewals, as lua/message/renew.lua numbers them.
const (
	Renewed  Renewal = iota // enqueue its new generation
	Gone                    // it ended or has another generation: nothing to do
	Deferred                // the queue or a worker has it: check again later
	NotDue                  // it is not due, by the server's clock
)

// Renew gives the message of a due entry a new generation, unless queued reports that the queue has
// a task of the current one. A message that is being sent keeps its generation until the lease
// ends. One of several callers with the same entry renews it. With Renewed it returns what the
// queue needs. A zero now means the server's clock.
func (w *WatchList) Renew(ctx context.Context, entry sendlimit.Timer, generation string, queued bool, now time.Time) (Renewal, sendlimit.Timer, error) {
	const doing = "renewing a message"
	for _, g := range []string{entry.Generation, generation} {
		if err := keyspace.CheckToken("generation", g); err != nil {
			return 0, sendlimit.Timer{}, err
		}
	}
	has := 0
	if queued {
		has = 1
	}
	in := script.Call(ctx, w.client, lua.Renew, doing,
		[]string{w.keys.Record(entry.User, entry.ID), w.keys.Near(entry.User)}, []any{
			script.Milliseconds(now), entry.Generation, keyspace.WatchSuffix(entry.User, entry.ID), generation, has,
			w.look.Milliseconds(), w.overdue.Milliseconds(),
		})
	_ = in.Time(1)
	switch result := in.Int(0); {
	case in.Err != nil:
		return 0, sendlimit.Timer{}, in.Err
	case result == int64(Renewed):
		return Renewed, sendlimit.Timer{
			User: entry.User, ID: entry.ID, Generation: generation, Due: in.Time(2), Origin: sendlimit.Origin{Account: in.String(3), Campaign: in.String(4)},
		}, in.Err
	case result == int64(Gone), result == int64(Deferred), result == int64(NotDue):
		return Renewal(result), sendlimit.Timer{}, nil
	default:
		return 0, sendlimit.Timer{}, script.ReplyError(doing, fmt.Sprintf("result %d", result))
	}
}
