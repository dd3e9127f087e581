package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// placed is a task in a queue.
type placed struct{ queue, id string }

// deleteTask deletes a task. It reports false if the task is running.
func (q *Queue) deleteTask(task placed) (bool, error) {
	err := q.inspector.DeleteTask(task.queue, task.id)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return true, nil
	}
	if info, err := q.inspector.GetTaskInfo(task.queue, task.id); err == nil && info.State == asynq.TaskStateActive {
		return false, nil
	}
	return false, store.Explain(err, "deleting a task")
}

// deletedAtOnce is how many tasks are deleted at a time, as each takes two round trips.
const deletedAtOnce = 16

// deleteTasks deletes tasks, except those that are running. It stops when ctx ends or at an
// error, and returns the first one.
func (q *Queue) deleteTasks(ctx context.Context, tasks []placed) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	waiting := make(chan placed)
	var workers sync.WaitGroup
	for range min(deletedAtOnce, len(tasks)) {
		workers.Go(func() {
			for task := range waiting {
				if _, err := q.deleteTask(task); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, task := range tasks {
		if ctx.Err() != nil {
			break
		}
		waiting <- task
	}
	close(waiting)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("deleting superseded tasks: %w", err)
	}
	return nil
}
