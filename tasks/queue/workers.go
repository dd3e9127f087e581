package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// stopped is the status of a server that ends.
const stopped = "stopped"

// ServerInfo is a worker process that takes tasks from the queue.
type ServerInfo struct {
	Host    string
	PID     int
	Started time.Time // UTC
	// Active is the number of running tasks. A task may be for several messages.
	Active int
	Status string // "active", or "stopped" while it ends
}

// Servers lists the workers of the queues under a prefix, by host and process. A killed one
// is listed for some seconds more. A process that only serves the API is not listed.
// The error is a *fault.UnavailableError.
func Servers(client redis.UniversalClient, prefix string) ([]ServerInfo, error) {
	found, err := asynq.NewInspectorFromRedisClient(client).Servers()
	if err != nil {
		return nil, store.Explain(err, "looking for workers")
	}
	var servers []ServerInfo
	for _, s := range found {
		if serves(s, Name(prefix)) {
			servers = append(servers, ServerInfo{
				Host: s.Host, PID: s.PID, Started: s.Started.UTC(), Active: len(s.ActiveWorkers), Status: s.Status,
			})
		}
	}
	slices.SortFunc(servers, func(a, b ServerInfo) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), a.Started.Compare(b.Started))
	})
	return perProcess(servers), nil
}

// serves reports whether a server has a queue of the prefix with this first queue.
func serves(s *asynq.ServerInfo, first string) bool {
	for name := range s.Queues {
		if ours(first, name) {
			return true
		}
	}
	return false
}

// perProcess joins the sorted entries of each process: asynq has one for each of its queues.
func perProcess(servers []ServerInfo) (processes []ServerInfo) {
	for _, s := range servers {
		last := len(processes) - 1
		if last < 0 || processes[last].Host != s.Host || processes[last].PID != s.PID {
			processes = append(processes, s)
			continue
		}
		processes[last].Active += s.Active
		if s.Status == stopped {
			processes[last].Status = stopped
		}
	}
	return processes
}

// Workers lists the Servers as "HOST (process ID)".
func Workers(client redis.UniversalClient, prefix string) ([]string, error) {
	servers, err := Servers(client, prefix)
	if err != nil {
		return nil, err
	}
	var workers []string
	for _, s := range servers {
		workers = append(workers, fmt.Sprintf("%s (process %d)", s.Host, s.PID))
	}
	return workers, nil
}
