package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// UserTasks finds and deletes the tasks of one user, including old generations.
type UserTasks struct {
	queue *Queue
	user  string
}

// TasksOf returns the tasks of a user.
func (q *Queue) TasksOf(user string) UserTasks { return UserTasks{queue: q, user: user} }

// Task is a task in the queue, or the part of one about a message of the user.
type Task struct {
	ID      string    // of a message: its generation; else of the task
	Message string    // the message's id; "" for a notice
	State   string    // in asynq's words
	Due     time.Time // zero for a notice

	task    placed
	payload []byte // of the task
}

// timersIn returns the parts of a task that are about the user.
func (t UserTasks) timersIn(name string, task *asynq.TaskInfo) (found []Task) {
	for _, p := range timersOf(task.Payload) {
		if p.User != t.user {
			continue
		}
		entry := Task{
			ID: cmp.Or(p.Generation, task.ID), Message: p.ID, State: task.State.String(), task: placed{name, task.ID}, payload: task.Payload,
		}
		if p.Due != 0 {
			entry.Due = p.queued().Due
		}
		found = append(found, entry)
	}
	return found
}

// tasksAtOnce is how many tasks are read in one call.
const tasksAtOnce = 1000

// lister lists the tasks of a queue in one state.
type lister = func(queue string, o ...asynq.ListOption) ([]*asynq.TaskInfo, error)

// pages yields the pages of a list of a queue. It yields nothing for a queue without tasks, and ends
// after an error.
func pages(list lister, name string) iter.Seq2[[]*asynq.TaskInfo, error] {
	return func(yield func([]*asynq.TaskInfo, error) bool) {
		for page := 1; ; page++ {
			tasks, err := list(name, asynq.PageSize(tasksAtOnce), asynq.Page(page))
			if errors.Is(err, asynq.ErrQueueNotFound) {
				return
			}
			if !yield(tasks, err) || err != nil || len(tasks) < tasksAtOnce {
				return
			}
		}
	}
}

// List returns the user's tasks in every state. It may miss a task that changes its state or its
// position meanwhile.
func (t UserTasks) List(ctx context.Context) ([]Task, error) {
	names, err := t.queue.allNow(ctx)
	if err != nil {
		return nil, err
	}
	var found []Task
	for _, name := range names {
		in, err := t.listIn(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	return found, nil
}

// listIn is List for one queue.
func (t UserTasks) listIn(ctx context.Context, name string) (found []Task, failed error) {
	seen := make(map[string]bool)
	inspector := t.queue.inspector
	for _, list := range []lister{
		// In the order in which a task passes through them.
		inspector.ListScheduledTasks, inspector.ListPendingTasks, inspector.ListActiveTasks,
		inspector.ListRetryTasks, inspector.ListArchivedTasks, inspector.ListCompletedTasks,
	} {
		for tasks, err := range pages(list, name) {
			if err != nil {
				return nil, store.Explain(err, "looking for a user's tasks")
			}
			for _, task := range tasks {
				if !seen[task.ID] {
					found = append(found, t.timersIn(name, task)...)
					seen[task.ID] = true
				}
			}
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("looking for a user's tasks: %w", err)
			}
		}
	}
	return found, nil
}

// Delete deletes the user's tasks until it finds no more, and counts the running ones, which can't
// be deleted.
func (t UserTasks) Delete(ctx context.Context) (deleted, running int, err error) {
	for again := true; again; {
		found, err := t.List(ctx)
		if err != nil {
			return deleted, 0, err
		}
		again, running = false, 0
		for _, task := range slices.CompactFunc(found, func(a, b Task) bool { return a.task == b.task }) {
			switch gone, err := t.delete(ctx, task); {
			case err != nil:
				return deleted, 0, err
			case gone:
				deleted++
				again = true
			default:
				running++
			}
		}
	}
	reported, err := t.countReported()
	return deleted, max(running, reported), err
}

// delete deletes a task, and enqueues another one for the messages of other users in it. It reports
// false if the task is running.
func (t UserTasks) delete(ctx context.Context, task Task) (bool, error) {
	var others []sendlimit.Timer
	for _, p := range timersOf(task.payload) {
		if p.User != t.user {
			others = append(others, p.queued())
		}
	}
	if len(others) == 0 || task.State == asynq.TaskStateActive.String() {
		return t.queue.deleteTask(task.task)
	}
	if err := t.queue.enqueueBatch(ctx, others, t.queue.early(others[0])); err != nil {
		return false, err
	}
	return t.queue.deleteTask(task.task)
}

// countReported counts the user's tasks in the reports that workers write to the store every few
// seconds, with the payloads.
func (t UserTasks) countReported() (int, error) {
	servers, err := t.queue.inspector.Servers()
	if err != nil {
		return 0, store.Explain(err, "looking at the tasks of workers")
	}
	count := 0
	for _, server := range servers {
		for _, worker := range server.ActiveWorkers {
			if ours(t.queue.spread.first, worker.Queue) && slices.ContainsFunc(timersOf(worker.TaskPayload), func(p Payload) bool { return p.User == t.user }) {
				count++
			}
		}
	}
	return count, nil
}
