package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// deleteTask deletes a task. It reports false if the task is running.
func (q *Queue) deleteTask(id string) (bool, error) {
	err := q.inspector.DeleteTask(q.name, id)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return true, nil
	}
	if task, err := q.inspector.GetTaskInfo(q.name, id); err == nil && task.State == asynq.TaskStateActive {
		return false, nil
	}
	return false, store.Explain(err, "deleting a task")
}

// deletedAtOnce is how many tasks are deleted at a time, as each takes two round trips.
const deletedAtOnce = 16

// deleteTasks deletes tasks, except those that are running. It stops when ctx ends or at an
// error, and returns the first one.
func (q *Queue) deleteTasks(ctx context.Context, ids []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	waiting := make(chan string)
	var workers sync.WaitGroup
	for range min(deletedAtOnce, len(ids)) {
		workers.Go(func() {
			for id := range waiting {
				if _, err := q.deleteTask(id); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		waiting <- id
	}
	close(waiting)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("deleting superseded tasks: %w", err)
	}
	return nil
}
