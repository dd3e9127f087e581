package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Workload is the work of all workers at a moment.
type Workload struct{ queues map[string]*work }

// work is the Workload of one queue.
type work struct {
	failed  error           // the queue did not answer
	idle    bool            // no task waits for a worker
	running map[string]bool // ids of the tasks that run in live workers
	batches func() (batched, error)
}

// maxRunning is the most running tasks of a queue in a Workload: about 20 workers' tasks.
const maxRunning = 10_000

// Workload asks the queues for the work of all workers. In a cluster some may not answer: then
// Has fails for their messages. The error is a *fault.UnavailableError if none answers.
func (q *Queue) Workload(ctx context.Context) (Workload, error) {
	names, err := q.allNow(ctx)
	if err != nil {
		return Workload{}, err
	}
	w := Workload{queues: make(map[string]*work, len(names))}
	found := make([]*work, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() { found[i] = q.workOf(name) })
	}
	asking.Wait()
	failed := 0
	for i, name := range names {
		w.queues[name] = found[i]
		if found[i].failed != nil {
			failed++
		}
	}
	if failed == len(names) {
		return Workload{}, found[0].failed
	}
	return w, nil
}

func (q *Queue) workOf(name string) *work {
	waiting, err := q.inspector.ListPendingTasks(name, asynq.PageSize(1))
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return &work{idle: true, batches: func() (batched, error) { return batched{}, nil }}
	}
	if err != nil {
		return &work{failed: store.Explain(err, askingForWork)}
	}
	active, err := q.inspector.ListActiveTasks(name, asynq.PageSize(maxRunning))
	if err != nil {
		return &work{failed: store.Explain(err, askingForWork)}
	}
	w := &work{
		idle: len(waiting) == 0, running: make(map[string]bool, len(active)),
		batches: Once(func() (batched, error) { return q.batched(name) }),
	}
	for _, task := range active {
		if !task.IsOrphaned {
			w.running[task.ID] = true
		}
	}
	return w
}

const askingForWork = "asking the queue for its tasks"

// batched has the messages in batches.
type batched struct {
	generations map[string]bool
	more        bool // there may be others
}

// maxListed bounds how many tasks of each state are read for a Workload. If a queue has
// more, workers are behind, and none of its batches counts as lost, except in a lane.
const maxListed = 20 * tasksAtOnce

// Once is sync.OnceValues for a function that asks the store. Its callers wait for each other at a
// channel: while one waits for a mutex, the virtual clock of a test stands still.
func Once[T any](ask func() (T, error)) func() (T, error) {
	var result T
	var failed error
	var begun atomic.Bool
	done := make(chan struct{})
	return func() (T, error) {
		if begun.CompareAndSwap(false, true) {
			result, failed = ask()
			close(done)
		}
		<-done
		return result, failed
	}
}

// batched lists the messages in the batches of a queue that will run, or run in live workers.
func (q *Queue) batched(name string) (batched, error) {
	found := batched{generations: make(map[string]bool)}
	for _, list := range []lister{
		// In the order in which a task passes through them.
		q.inspector.ListScheduledTasks, q.inspector.ListRetryTasks, q.inspector.ListPendingTasks, q.inspector.ListActiveTasks,
	} {
		read := 0
		for tasks, err := range pages(list, name) {
			if err != nil {
				return batched{}, store.Explain(err, askingForWork)
			}
			if read += len(tasks); read > maxListed {
				found.more = !isLane(q.spread.first, name) // one account's herd must not hide the losses of others
				break
			}
			for _, task := range tasks {
				found.add(task)
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

// Has reports whether a queue has a task of a generation of a user's message that will run, or
// runs in a live worker. It reads the user's queue, and those of programs with another number of
// queues. A task that is marked as waiting does not count if the list of waiting tasks is gone.
func (q *Queue) Has(ctx context.Context, user, generation string, w Workload) (bool, error) {
	own, err := q.ofUser(ctx, user)
	if err != nil {
		return false, err
	}
	if has, err := q.hasIn(own, generation, w.queues[own]); has || err != nil {
		return has, err
	}
	for name, work := range w.queues { // first without calls: there may be many lanes
		if work.failed == nil && name != own {
			if batches, err := work.batches(); err == nil && (batches.generations[generation] || batches.more) {
				return true, nil
			}
		}
	}
	for name, work := range w.queues {
		if name == own {
			continue
		}
		// Ignore a queue that does not answer: its task becomes stale.
		if has, err := q.hasIn(name, generation, work); has && err == nil {
			return true, nil
		}
	}
	return false, nil
}

// hasIn is Has for one queue.
func (q *Queue) hasIn(name, generation string, w *work) (bool, error) {
	if w.failed != nil {
		return false, w.failed
	}
	info, err := q.inspector.GetTaskInfo(name, generation)
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
