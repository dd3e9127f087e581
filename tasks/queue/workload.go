package queue

import (
	"errors"
	"sync"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Workload is what workers are doing at a moment.
type Workload struct {
	idle    bool            // no task waits for a worker
	running map[string]bool // ids of the tasks that run in live workers
	batches func() (batched, error)
}

// mostRunning is the most running tasks that a Workload has: those of about 20 workers.
const mostRunning = 10_000

// Workload asks the queue what workers are doing. The error is a
// *fault.UnavailableError.
func (q *Queue) Workload() (Workload, error) {
	waiting, err := q.inspector.ListPendingTasks(q.name, asynq.PageSize(1))
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return Workload{idle: true, batches: func() (batched, error) { return batched{}, nil }}, nil
	}
	if err != nil {
		return Workload{}, store.Explain(err, askingForWork)
	}
	active, err := q.inspector.ListActiveTasks(q.name, asynq.PageSize(mostRunning))
	if err != nil {
		return Workload{}, store.Explain(err, askingForWork)
	}
	w := Workload{idle: len(waiting) == 0, running: make(map[string]bool, len(active)), batches: sync.OnceValues(q.batched)}
	for _, task := range active {
		if !task.IsOrphaned {
			w.running[task.ID] = true
		}
	}
	return w, nil
}

const askingForWork = "asking the queue what it is working on"

// batched has the messages that are in batches.
type batched struct {
	generations map[string]bool
	more        bool // there may be others
}

const (
	batchPage = 1000 // tasks that are read at a time
	// mostListed bounds how many tasks of each state are read for a Workload. If there are
	// more, the queue has more than workers can do, and no batch counts as lost.
	mostListed = 20 * batchPage
)

// batched lists the messages in batches that will run, or that run in live workers.
func (q *Queue) batched() (batched, error) {
	found := batched{generations: make(map[string]bool)}
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		// In the order in which a task passes through them.
		q.inspector.ListScheduledTasks, q.inspector.ListRetryTasks, q.inspector.ListPendingTasks, q.inspector.ListActiveTasks,
	} {
		for page := 1; ; page++ {
			if page > mostListed/batchPage {
				found.more = true
				break
			}
			tasks, err := list(q.name, asynq.PageSize(batchPage), asynq.Page(page))
			if err != nil {
				return batched{}, store.Explain(err, askingForWork)
			}
			for _, task := range tasks {
				found.add(task)
			}
			if len(tasks) < batchPage {
				break
			}
		}
	}
	return found, nil
}

// add adds the messages of a task, if it is a batch.
func (b *batched) add(task *asynq.TaskInfo) {
	if task.State == asynq.TaskStateActive && task.IsOrphaned {
		return
	}
	for _, p := range timersOf(task.Payload) {
		if p.Generation != task.ID {
			b.generations[p.Generation] = true
		}
	}
}

// Has reports whether the queue has a task of a generation that will run, or that runs in
// a live worker. A task that is marked as waiting does not count if the list of waiting
// tasks is gone.
func (q *Queue) Has(generation string, w Workload) (bool, error) {
	info, err := q.inspector.GetTaskInfo(q.name, generation)
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		batches, err := w.batches()
		return batches.generations[generation] || batches.more, err
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
