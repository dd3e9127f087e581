package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Sizes counts the tasks in the queues under a prefix by their state: "scheduled" for
// later, "pending" for a worker, "active" in a worker, "retry" to come again, and
// "archived" by another program. A queue that never had a task has none, and is not looked at. The error is a
// *fault.UnavailableError if the store is at fault.
//
// When ctx ends, Sizes returns; the client's own timeouts end its calls.
func Sizes(ctx context.Context, client redis.UniversalClient, prefix string) (map[string]int, error) {
	type answer struct {
		sizes map[string]int
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		sizes, err := queueSizes(client, Name(prefix))
		answered <- answer{sizes, err}
	}()
	select {
	case a := <-answered:
		return a.sizes, store.Explain(a.err, "counting the tasks in the queue")
	case <-ctx.Done():
		return nil, store.Explain(ctx.Err(), "counting the tasks in the queue")
	}
}

func queueSizes(client redis.UniversalClient, first string) (map[string]int, error) {
	inspector := asynq.NewInspectorFromRedisClient(client)
	queues, err := inspector.Queues()
	if err != nil {
		return nil, fmt.Errorf("listing the queues: %w", err)
	}
	sizes := map[string]int{"scheduled": 0, "pending": 0, "active": 0, "retry": 0, "archived": 0}
	for _, queue := range queues {
		if !ours(first, queue) {
			continue
		}
		info, err := inspector.GetQueueInfo(queue)
		if errors.Is(err, asynq.ErrQueueNotFound) {
			continue // a lane that has just gone
		}
		if err != nil {
			return nil, fmt.Errorf("looking at the queue: %w", err)
		}
		sizes["scheduled"] += info.Scheduled
		sizes["pending"] += info.Pending
		sizes["active"] += info.Active
		sizes["retry"] += info.Retry
		sizes["archived"] += info.Archived
	}
	return sizes, nil
}
