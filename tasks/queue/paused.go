package queue

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Paused returns the queues under a prefix that are paused, sorted: workers take no task of them.
// Nothing here pauses a queue; tools of asynq do, such as asynqmon. The error is a
// *fault.UnavailableError if the store is at fault.
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
