package queue

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// A batch is a task for several messages that are due together. It costs the queue about as much as
// one message.
const (
	maxTogether = 32
	batchSpan   = 100 * time.Millisecond // between the first and the last message of a batch
)

// together sorts messages by their time and splits them into batches.
func (q *Queue) together(queued []sendlimit.Timer) iter.Seq[[]sendlimit.Timer] {
	queued = slices.SortedStableFunc(slices.Values(queued), func(a, b sendlimit.Timer) int {
		return cmp.Compare(q.due(a).UnixMilli(), q.due(b).UnixMilli())
	})
	return func(yield func([]sendlimit.Timer) bool) {
		for len(queued) > 0 {
			n := 1
			for n < min(len(queued), maxTogether) && q.due(queued[n]).Sub(q.due(queued[0])) <= batchSpan {
				n++
			}
			if !yield(queued[:n:n]) {
				return
			}
			queued = queued[n:]
		}
	}
}

// enqueueBatch puts messages into their queues, to be delivered at a time; zero means now. The
// messages of a queue share a task. A message may be in several tasks: only one can claim it.
func (q *Queue) enqueueBatch(ctx context.Context, batch []sendlimit.Timer, at time.Time) error {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return err
	}
	for name, part := range q.spread.perQueue(chosen, batch, q.answering.local()) {
		if err := q.enqueueTogether(ctx, name, part, at); err != nil {
			return err
		}
	}
	return nil
}

// enqueueTogether puts a task for messages into a queue, as enqueueBatch does.
func (q *Queue) enqueueTogether(ctx context.Context, name string, batch []sendlimit.Timer, at time.Time) error {
	if len(batch) == 1 {
		return q.enqueueOne(ctx, name, batch[0], at)
	}
	err := q.enqueue(ctx, name, TypeDeliver, keyspace.NewToken(), payloadFor(batch), at)
	return store.Explain(err, "handing messages to the queue")
}
