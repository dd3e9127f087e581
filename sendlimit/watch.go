package sendlimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// overdueAfter is how long after its send time a message that the queue has is
// looked after.
const overdueAfter = 60 * time.Second

// WatchList knows every message that has not ended, and when to look after it
// if nothing happens: the outbox of messages that the queue does not have yet,
// and the guard over timers that got lost.
type WatchList struct {
	client redis.Cmdable
	keys   Keys
}

// NewWatchList returns the watch list under a prefix, "" for DefaultPrefix.
func NewWatchList(client redis.Cmdable, prefix string) (*WatchList, error) {
	keys, err := NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	return &WatchList{client: client, keys: keys}, nil
}

// Queued names a generation of a message that the queue has taken.
type Queued struct {
	User       string
	ID         string
	Generation string
	Due        time.Time
}

// Confirm notes that the queue has these messages: there is nothing to look
// after until a minute past their time. An entry of a generation that has been
// superseded or has ended is gone and stays so. One round trip for all.
func (w *WatchList) Confirm(ctx context.Context, queued []Queued) error {
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, q := range queued {
			pipe.ZAddXX(ctx, w.keys.Watch(q.User), redis.Z{
				Score:  float64(q.Due.Add(overdueAfter).UnixMilli()),
				Member: WatchMember(q.User, q.ID, q.Generation),
			})
		}
		return nil
	})
	if err != nil {
		return Unavailable(err, "confirming queued messages")
	}
	return nil
}
