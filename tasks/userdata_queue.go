package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// userTasks finds and deletes the tasks of a user, those of generations long
// past included: only their payload names the user.
type userTasks struct {
	inspector *asynq.Inspector
	name      string // of the queue
}

// tasksAtOnce is how many tasks are read in one call.
const tasksAtOnce = 1000

// find lists the tasks of a user in every state. One that changes its state or
// its place among the others meanwhile may be missing: look again.
func (t *userTasks) find(ctx context.Context, user string) ([]*asynq.TaskInfo, error) {
	var found []*asynq.TaskInfo
	seen := make(map[string]bool)
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		// In the order in which a task passes through them.
		t.inspector.ListScheduledTasks, t.inspector.ListPendingTasks, t.inspector.ListActiveTasks,
		t.inspector.ListRetryTasks, t.inspector.ListArchivedTasks, t.inspector.ListCompletedTasks,
	} {
		for page := 1; ; page++ {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("looking for a user's tasks: %w", err)
			}
			tasks, err := list(t.name, asynq.PageSize(tasksAtOnce), asynq.Page(page))
			if errors.Is(err, asynq.ErrQueueNotFound) {
				return nil, nil // nothing was ever enqueued
			}
			if err != nil {
				return nil, store.Unavailable(err, "looking for a user's tasks")
			}
			for _, task := range tasks {
				if userOf(task.Payload).User == user && !seen[task.ID] {
					seen[task.ID] = true
					found = append(found, task)
				}
			}
			if len(tasks) < tasksAtOnce {
				break
			}
		}
	}
	return found, nil
}

// drop deletes the tasks of a user, and counts those that are running, which
// can't be deleted. It looks until it finds none that it could delete.
func (t *userTasks) drop(ctx context.Context, user string) (deleted, running int, err error) {
	for again := true; again; {
		found, err := t.find(ctx, user)
		if err != nil {
			return deleted, 0, err
		}
		again, running = false, 0
		for _, task := range found {
			switch gone, err := t.delete(task.ID); {
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
	reported, err := t.reported(user)
	return deleted, max(running, reported), err
}

// delete deletes a task, and reports false where it is running.
func (t *userTasks) delete(id string) (bool, error) {
	err := t.inspector.DeleteTask(t.name, id)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) {
		return true, nil
	}
	if task, err := t.inspector.GetTaskInfo(t.name, id); err == nil && task.State == asynq.TaskStateActive {
		return false, nil
	}
	return false, store.Unavailable(err, "deleting a task")
}

// reported counts the user's tasks that workers have reported to have in hand:
// the report is in the store, too, and seconds older than what it says.
func (t *userTasks) reported(user string) (int, error) {
	servers, err := t.inspector.Servers()
	if err != nil {
		return 0, store.Unavailable(err, "looking at what workers do")
	}
	count := 0
	for _, server := range servers {
		for _, worker := range server.ActiveWorkers {
			if worker.Queue == t.name && userOf(worker.TaskPayload).User == user {
				count++
			}
		}
	}
	return count, nil
}
