package queue

import (
	"fmt"
	"slices"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Workers lists the workers of the queue under a prefix, as "HOST (process ID)". One that was
// killed is listed for some seconds more. A process that only serves the API is not listed.
func Workers(client redis.UniversalClient, prefix string) ([]string, error) {
	servers, err := asynq.NewInspectorFromRedisClient(client).Servers()
	if err != nil {
		return nil, store.Explain(err, "looking for workers")
	}
	var workers []string
	for _, server := range servers {
		if _, ours := server.Queues[Name(prefix)]; ours {
			workers = append(workers, fmt.Sprintf("%s (process %d)", server.Host, server.PID))
		}
	}
	slices.Sort(workers)
	return workers, nil
}
