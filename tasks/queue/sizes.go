package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Sizes counts the tasks in the queues under a prefix by their state: "scheduled" for later,
// "pending" for a worker, "active" in a worker, "retry" to be retried, and "archived" by another
// program. The error is a *fault.UnavailableError if the store is at fault.
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

// Paused returns the paused queues under a prefix, sorted: workers take no tasks from them.
// Only tools of asynq pause a queue, such as asynqmon. The error is a *fault.UnavailableError if the
// store is at fault.
func Paused(ctx context.Context, client redis.UniversalClient, prefix string) (paused []string, failed error) {
	const doing = "looking whether the queue is paused"
	names, err := client.SMembers(ctx, queuesKey).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	first := Name(prefix)
	names = slices.DeleteFunc(names, func(name string) bool { return !ours(first, name) || name == first })
	names = append(names, first) // also if it never had a task
	found := make([]*redis.IntCmd, len(names))
	_, err = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, name := range names {
			found[i] = pipe.Exists(ctx, key(name, "paused"))
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	for i, name := range names {
		if found[i].Val() == 1 {
			paused = append(paused, name)
		}
	}
	slices.Sort(paused)
	return paused, nil
}
