package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// userTasks finds and deletes the tasks of a user, those of generations long
// past included: only their payload names the user.
type UserTasks struct {
	Inspector *asynq.Inspector
	Name      string // of the queue
}

// tasksAtOnce is how many tasks are read in one call.
const tasksAtOnce = 1000

// find lists the tasks of a user in every state. One that changes its state or
// its place among the others meanwhile may be missing: look again.
func (t *UserTasks) Find(ctx context.Context, user string) ([]*asynq.TaskInfo, error) {
	var found []*asynq.TaskInfo
	seen := make(map[string]bool)
	for _, list := range []func(string, ...asynq.ListOption) ([]*asynq.TaskInfo, error){
		// In the order in which a task passes through them.
		t.Inspector.ListScheduledTasks, t.Inspector.ListPendingTasks, t.Inspector.ListActiveTasks,
		t.Inspector.ListRetryTasks, t.Inspector.ListArchivedTasks, t.Inspector.ListCompletedTasks,
	} {
		for page := 1; ; page++ {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("looking for a user's tasks: %w", err)
			}
			tasks, err := list(t.Name, asynq.PageSize(tasksAtOnce), asynq.Page(page))
			if errors.Is(err, asynq.ErrQueueNotFound) {
				return nil, nil // nothing was ever enqueued
			}
			if err != nil {
				return nil, store.Explain(err, "looking for a user's tasks")
			}
			for _, task := range tasks {
				if UserOf(task.Payload).User == user && !seen[task.ID] {
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
func (t *UserTasks) Drop(ctx context.Context, user string) (deleted, running int, err error) {
	for again := true; again; {
		found, err := t.Find(ctx, user)
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
func (t *UserTasks) delete(id string) (bool, error) {
	err := t.Inspector.DeleteTask(t.Name, id)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) {
		return true, nil
	}
	if task, err := t.Inspector.GetTaskInfo(t.Name, id); err == nil && task.State == asynq.TaskStateActive {
		return false, nil
	}
	return false, store.Explain(err, "deleting a task")
}

// reported counts the user's tasks that workers have reported to have in hand:
// the report is in the store, too, and seconds older than what it says.
func (t *UserTasks) reported(user string) (int, error) {
	servers, err := t.Inspector.Servers()
	if err != nil {
		return 0, store.Explain(err, "looking at what workers do")
	}
	count := 0
	for _, server := range servers {
		for _, worker := range server.ActiveWorkers {
			if worker.Queue == t.Name && UserOf(worker.TaskPayload).User == user {
				count++
			}
		}
	}
	return count, nil
}
