package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/queueclock"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Name returns the name of the queue under a prefix, "" for keyspace.DefaultPrefix. It
// contains the prefix, as the keys of asynq do not.
func Name(prefix string) string {
	if prefix == "" {
		prefix = keyspace.DefaultPrefix
	}
	return prefix + ":push"
}

// Queue is the queue of one prefix. It is safe for concurrent use.
type Queue struct {
	redis     redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
	clock     *storeclock.Clock // nil for that of the machine
	name      string
	polling   Polling
	answering *answering
}

// New returns the queue in the store behind client. The error is a
// *fault.InvalidError.
func New(client redis.UniversalClient, prefix string, p Polling) (*Queue, error) {
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return (&Queue{name: Name(prefix), polling: p}).Through(client), nil
}

// Through returns the same queue, used through another client of its store.
func (q *Queue) Through(client redis.UniversalClient) *Queue {
	return &Queue{
		redis: client, client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client),
		clock: q.clock, name: q.name, polling: q.polling, answering: newAnswering(),
	}
}

// ByClock returns the same queue, which goes by the store's clock and not by that of the
// machine.
func (q *Queue) ByClock(clock *storeclock.Clock) *Queue {
	byClock := q.Through(queueclock.New(q.redis, clock))
	byClock.clock = clock
	return byClock
}

// skew returns how far the clock of the queue is ahead of the machine's.
func (q *Queue) skew() time.Duration {
	if q.clock == nil {
		return 0
	}
	return q.clock.Skew()
}

// EnqueueWithin bounds how long a caller waits for the queue. If the queue takes no task,
// the watch list or the outbox has it.
const EnqueueWithin = 250 * time.Millisecond

const (
	// maxStoreRetries means "for ever", as any number above zero: asynq counts only
	// failures, and no error of ours counts as one.
	maxStoreRetries = 25
	// taskTimeout is longer than a handler takes: the wait for its time and for a
	// delivery slot, and the delivery, which takes up to an hour by e-mail.
	taskTimeout = 90 * time.Minute
)

// enqueue puts a task into the queue, to be handed out at a time; zero means now.
func (q *Queue) enqueue(ctx context.Context, kind, id string, payload any, at time.Time) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("payload of a task: %w", err)
	}
	options := []asynq.Option{
		asynq.Queue(q.name), asynq.TaskID(id), asynq.MaxRetry(maxStoreRetries), asynq.Timeout(taskTimeout),
	}
	if !at.IsZero() {
		options = append(options, asynq.ProcessAt(at))
	}
	ctx, cancel := context.WithTimeout(ctx, EnqueueWithin)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(kind, text), options...)
	return err //nolint:wrapcheck // both callers say what they were doing
}

// enqueueMessage puts the timer of one generation of a message into the queue, to be handed
// out at a time; zero means now.
func (q *Queue) enqueueMessage(ctx context.Context, m messages.Queued, at time.Time) error {
	err := q.enqueue(ctx, TypeDeliver, m.Generation, payloadFor([]messages.Queued{m}), at)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil // this generation was enqueued before
	}
	return store.Explain(err, "handing a message to the queue")
}
