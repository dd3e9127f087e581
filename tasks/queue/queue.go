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
)

// TypeDeliver is the type of the task that delivers a push.
const TypeDeliver = "push:deliver"

// payloadVersion is the version of Payload that this program writes, and the
// newest it reads.
const PayloadVersion = 1

// Payload is what a delivery task carries: whose timer it is, and no content,
// which lives in the record. Its generation is also the id of its task.
type Payload struct {
	Version    int    `json:"v"`
	User       string `json:"user"`
	ID         string `json:"id"`
	Generation string `json:"generation"`
	// Due is when the task wants to run, Unix ms: a hint how long to wait, as
	// the queue knows whole seconds only. The gate judges by the record.
	Due int64 `json:"due"`
}

func (p Payload) DueAt() time.Time { return time.UnixMilli(p.Due).UTC() }

// decodePayload reads the payload of a task; of one that a newer program wrote
// no more than its version.
func DecodePayload(text []byte) (Payload, error) {
	var newer struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(text, &newer); err != nil {
		return Payload{}, fmt.Errorf("payload of a task: %w", err)
	}
	if newer.Version < 1 {
		return Payload{}, errors.New("payload of a task: it has no version")
	}
	if newer.Version > PayloadVersion {
		return Payload{Version: newer.Version}, nil
	}
	var p Payload
	if err := json.Unmarshal(text, &p); err != nil {
		return Payload{}, fmt.Errorf("payload of a task: %w", err)
	}
	return p, nil
}

// lead is how much before its time a task is asked for, so that neither the
// queue's polling nor its way to a handler makes it late; the handler waits
// for the rest.
const lead = ForwardEvery + FetchEvery + FetchEvery/2 // the queue adds up to half to its wait

// Name is the queue under a prefix: it carries the prefix, since the
// queue's own keys do not.
func Name(prefix string) string {
	if prefix == "" {
		prefix = keyspace.DefaultPrefix
	}
	return prefix + ":push"
}

// queue hands timers to asynq.
type Queue struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	name      string
}

func New(client redis.UniversalClient, prefix string) *Queue {
	return &Queue{
		client: asynq.NewClientFromRedisClient(client), inspector: asynq.NewInspectorFromRedisClient(client),
		name: Name(prefix),
	}
}

// enqueueWithin bounds how long a submit waits for the queue: what it could
// not hand over is on the watch list.
const EnqueueWithin = 250 * time.Millisecond

// enqueue hands over the timer of one generation of a message.
func (q *Queue) Enqueue(ctx context.Context, m messages.Queued) error {
	payload, err := json.Marshal(Payload{
		Version: PayloadVersion, User: m.User, ID: m.ID, Generation: m.Generation, Due: m.Due.UnixMilli(),
	})
	if err != nil {
		return fmt.Errorf("payload of a task: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, EnqueueWithin)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(TypeDeliver, payload),
		asynq.Queue(q.name), asynq.TaskID(m.Generation), asynq.ProcessAt(m.Due.Add(-lead)),
		asynq.MaxRetry(maxStoreRetries), asynq.Timeout(taskTimeout))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil // this very generation, handed over before: nobody else makes it
	}
	return store.Explain(err, "handing a message to the queue")
}

// InHand are what the queue is working on at a moment.
type InHand struct {
	idle    bool            // no task waits to be taken
	running map[string]bool // the tasks in the hands of workers that live
}

// mostRunning is how many running tasks are looked at: those of some twenty
// workers.
const mostRunning = 10_000

func (q *Queue) InHand() (InHand, error) {
	const doing = "asking the queue what it is working on"
	waiting, err := q.inspector.ListPendingTasks(q.name, asynq.PageSize(1))
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return InHand{idle: true}, nil
	}
	if err != nil {
		return InHand{}, store.Explain(err, doing)
	}
	active, err := q.inspector.ListActiveTasks(q.name, asynq.PageSize(mostRunning))
	if err != nil {
		return InHand{}, store.Explain(err, doing)
	}
	h := InHand{idle: len(waiting) == 0, running: make(map[string]bool, len(active))}
	for _, task := range active {
		if !task.IsOrphaned {
			h.running[task.ID] = true
		}
	}
	return h, nil
}

// has reports whether the queue has a task of a generation that is going to
// run, or runs with a worker that lives: it may wait for a delivery slot. A task
// that only says that it waits does not count, where somebody has removed the
// list it would wait in.
func (q *Queue) Has(generation string, h InHand) (bool, error) {
	info, err := q.inspector.GetTaskInfo(q.name, generation)
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return false, nil
	}
	if err != nil {
		return false, store.Explain(err, "asking the queue for a message")
	}
	switch info.State {
	case asynq.TaskStatePending:
		return !h.idle, nil
	case asynq.TaskStateActive:
		return h.running[generation], nil
	case asynq.TaskStateScheduled, asynq.TaskStateRetry:
		return !info.NextProcessAt.IsZero(), nil
	default:
		return false, nil
	}
}

const (
	// maxStoreRetries is looked at before asynq asks whether an error counts
	// as a failure, and none of ours does: any number above zero means "for
	// ever".
	maxStoreRetries = 25
	// taskTimeout is above what a handler can take: the wait for its time, for
	// a delivery slot, and the delivery.
	taskTimeout = 30 * time.Minute
)
