package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// UserTasks finds and deletes the tasks of one user, including old generations.
type UserTasks struct {
	queue *Queue
	user  string
}

// TasksOf returns the tasks of a user.
func (q *Queue) TasksOf(user string) UserTasks { return UserTasks{queue: q, user: user} }

// Task is a task in the queue.
type Task struct {
	ID      string    // of the task: the generation of a message
	Message string    // the message's id; "" for a notice
	State   string    // as asynq calls it
	Due     time.Time // zero for a notice
}

// tasksAtOnce is how many tasks are read in one call.
const tasksAtOnce = 1000

// List returns the user's tasks in every state. It may miss a task that changes its state
// or its position meanwhile: call it again.
func (t UserTasks) List(ctx context.Context) ([]Task, error) {
	var found []Task
	seen := make(map[string]bool)
	inspector := t.queue.inspector
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		// In the order in which a task passes through them.
		inspector.ListScheduledTasks, inspector.ListPendingTasks, inspector.ListActiveTasks,
		inspector.ListRetryTasks, inspector.ListArchivedTasks, inspector.ListCompletedTasks,
	} {
		for page := 1; ; page++ {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("looking for a user's tasks: %w", err)
			}
			tasks, err := list(t.queue.name, asynq.PageSize(tasksAtOnce), asynq.Page(page))
			if errors.Is(err, asynq.ErrQueueNotFound) {
				return nil, nil // nothing was ever enqueued
			}
			if err != nil {
				return nil, store.Explain(err, "looking for a user's tasks")
			}
			for _, task := range tasks {
				p := payloadOfUser(task.Payload)
				if p.User != t.user || seen[task.ID] {
					continue
				}
				seen[task.ID] = true
				entry := Task{ID: task.ID, Message: p.ID, State: task.State.String()}
				if p.Due != 0 {
					entry.Due = p.DueAt()
				}
				found = append(found, entry)
			}
			if len(tasks) < tasksAtOnce {
				break
			}
		}
	}
	return found, nil
}

// Delete deletes the user's tasks and counts those that are running, which cannot
// be deleted. It looks again until it finds none that it can delete.
func (t UserTasks) Delete(ctx context.Context) (deleted, running int, err error) {
	for again := true; again; {
		found, err := t.List(ctx)
		if err != nil {
			return deleted, 0, err
		}
		again, running = false, 0
		for _, task := range found {
			switch gone, err := t.queue.deleteTask(task.ID); {
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

// countReported counts the user's tasks in the reports of workers. Workers write these to
// the store every few seconds, with the payloads.
func (t UserTasks) countReported() (int, error) {
	servers, err := t.queue.inspector.Servers()
	if err != nil {
		return 0, store.Explain(err, "looking at what workers do")
	}
	count := 0
	for _, server := range servers {
		for _, worker := range server.ActiveWorkers {
			if worker.Queue == t.queue.name && payloadOfUser(worker.TaskPayload).User == t.user {
				count++
			}
		}
	}
	return count, nil
}
