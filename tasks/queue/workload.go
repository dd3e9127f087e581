package queue

import (
	"errors"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Workload is what workers are doing at a moment.
type Workload struct {
	idle    bool            // no task waits for a worker
	running map[string]bool // ids of the tasks that run in live workers
}

// mostRunning is the most running tasks that a Workload has: those of about 20 workers.
const mostRunning = 10_000

// Workload asks the queue what workers are doing. The error is a
// *fault.UnavailableError.
func (q *Queue) Workload() (Workload, error) {
	const doing = "asking the queue what it is working on"
	waiting, err := q.inspector.ListPendingTasks(q.name, asynq.PageSize(1))
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return Workload{idle: true}, nil
	}
	if err != nil {
		return Workload{}, store.Explain(err, doing)
	}
	active, err := q.inspector.ListActiveTasks(q.name, asynq.PageSize(mostRunning))
	if err != nil {
		return Workload{}, store.Explain(err, doing)
	}
	w := Workload{idle: len(waiting) == 0, running: make(map[string]bool, len(active))}
	for _, task := range active {
		if !task.IsOrphaned {
			w.running[task.ID] = true
		}
	}
	return w, nil
}

// Has reports whether the queue has a task of a generation that will run, or that runs in
// a live worker. A task that is marked as waiting does not count if the list of waiting
// tasks is gone.
func (q *Queue) Has(generation string, w Workload) (bool, error) {
	info, err := q.inspector.GetTaskInfo(q.name, generation)
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return false, nil
	}
	if err != nil {
		return false, store.Explain(err, "asking the queue for a message")
	}
	switch info.State {
	case asynq.TaskStatePending:
		return !w.idle, nil
	case asynq.TaskStateActive:
		return w.running[generation], nil
	case asynq.TaskStateScheduled, asynq.TaskStateRetry:
		return !info.NextProcessAt.IsZero(), nil
	default:
		return false, nil
	}
}
