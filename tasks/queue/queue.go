package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Queue is the queue of one prefix, or its queues in a cluster. It is safe for concurrent use.
type Queue struct {
	redis     redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
	clock     *storeclock.Clock // nil for that of the machine
	ahead     keyspace.Ahead
	spread    *spread
	polling   Polling
	answering *answering
	arrivals  *arrivals
}

// New returns the queue in the store behind client, spread over n queues, at most MaxQueues. If n
// is 0, it is one queue, or in a cluster one for each master there is when the first task is put
// into the queue. The error is a *fault.InvalidError.
func New(client redis.UniversalClient, prefix string, n int, p Polling) (*Queue, error) {
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return nil, err
	}
	spread, err := newSpread(client, prefix, n)
	if err != nil {
		return nil, err
	}
	return (&Queue{
		spread: spread, polling: p, arrivals: newArrivals(prefix, p.idle(), spread.herds.fresh),
	}).Through(client), nil
}

// Through returns the same queue through another client of its store.
func (q *Queue) Through(client redis.UniversalClient) *Queue {
	return &Queue{
		redis: client, client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client),
		clock: q.clock, ahead: q.ahead, spread: q.spread, polling: q.polling, answering: newAnswering(), arrivals: q.arrivals,
	}
}

// ByClock returns the same queue with the store's clock instead of the machine's.
func (q *Queue) ByClock(clock *storeclock.Clock) *Queue {
	byClock := q.Through(newByStoreClock(q.redis, clock))
	byClock.clock = clock
	return byClock
}

// WithAhead returns the same queue with the common clock of ahead. The times of messages are by
// the clocks of their servers.
func (q *Queue) WithAhead(ahead keyspace.Ahead) *Queue {
	other := q.Through(q.redis)
	other.ahead = ahead
	return other
}

// skew returns how far the clock of the queue is ahead of the machine's.
func (q *Queue) skew() time.Duration {
	if q.clock == nil {
		return 0
	}
	return q.clock.Skew()
}

// EnqueueWithin bounds how long a caller waits for the queue. If the queue does not accept a task,
// the watch list or the outbox has it.
const EnqueueWithin = 250 * time.Millisecond

const (
	// maxStoreRetries means no limit, like any number above zero: asynq counts only failures, and
	// none of our errors is one.
	maxStoreRetries = 25
	// taskTimeout is longer than a handler takes: the wait for its time and for a
	// delivery slot, and the delivery, which takes up to an hour by e-mail.
	taskTimeout = 90 * time.Minute
)

// enqueue puts a task into a queue, to be delivered at a time; zero means now.
func (q *Queue) enqueue(ctx context.Context, name, kind, id string, payload any, at time.Time) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("payload of a task: %w", err)
	}
	options := []asynq.Option{
		asynq.Queue(name), asynq.TaskID(id), asynq.MaxRetry(maxStoreRetries), asynq.Timeout(taskTimeout),
	}
	if !at.IsZero() {
		options = append(options, asynq.ProcessAt(at))
	}
	ctx, cancel := context.WithTimeout(ctx, EnqueueWithin)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(kind, text), options...)
	if err == nil {
		q.arrivals.tell(ctx, q.redis)
	}
	if taken := err == nil || errors.Is(err, asynq.ErrTaskIDConflict); taken && isLane(q.spread.first, name) {
		if err := q.spread.herds.list(ctx, q.redis, name, q.answering.local()); err != nil {
			return err
		}
	}
	return err
}

// enqueueOne puts the timer of one generation of a message into a queue, to be delivered at a time;
// zero means now.
func (q *Queue) enqueueOne(ctx context.Context, name string, m sendlimit.Timer, at time.Time) error {
	err := q.enqueue(ctx, name, TypeDeliver, m.Generation, payloadFor([]sendlimit.Timer{m}), at)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil // this generation was enqueued before
	}
	return store.Explain(err, "handing a message to the queue")
}
