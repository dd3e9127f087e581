package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const (
	// wakePage is how many waiting tasks are read at a time.
	wakePage = 1000
	// wakeTogether is how many tasks are woken at once.
	wakeTogether = 16
)

// WakeWaiting makes the tasks that went back to the queue with an AgainError of a cause
// come now. A worker recognizes the cause by its text. Each task is woken at most once in a
// call, also if it goes back meanwhile. The error is a *fault.UnavailableError, or that of
// ctx if it ends while the tasks are listed.
func (q *Queue) WakeWaiting(ctx context.Context, cause error) error {
	names, err := q.allNow(ctx)
	if err != nil {
		return err
	}
	failed := error(nil)
	for _, name := range names { // what one master keeps does not wait for another
		if err := q.wakeIn(ctx, name, cause); failed == nil {
			failed = err
		}
	}
	return failed
}

// wakeIn is WakeWaiting for one queue.
func (q *Queue) wakeIn(ctx context.Context, name string, cause error) error {
	const doing = "waking tasks that wait"
	ids, err := q.waitingFor(ctx, name, cause)
	if err != nil {
		return store.Explain(err, doing)
	}
	wakers, running := errgroup.WithContext(ctx)
	wakers.SetLimit(wakeTogether)
	for _, id := range ids {
		if running.Err() != nil {
			break
		}
		wakers.Go(func() error {
			err := store.Explain(q.inspector.RunTask(name, id), doing)
			if _, away := errors.AsType[*fault.UnavailableError](err); away {
				return err
			}
			return nil // with any other error the task waits no longer
		})
	}
	if err := wakers.Wait(); err != nil {
		return err
	}
	return nil
}

// waitingFor lists the ids of the tasks of a queue that wait with an AgainError of a cause, those that
// come first in front.
func (q *Queue) waitingFor(ctx context.Context, name string, cause error) ([]string, error) {
	var ids []string
	for page := 1; ctx.Err() == nil; page++ {
		tasks, err := q.inspector.ListRetryTasks(name, asynq.PageSize(wakePage), asynq.Page(page))
		if errors.Is(err, asynq.ErrQueueNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			if strings.HasSuffix(task.LastErr, cause.Error()) {
				ids = append(ids, task.ID)
			}
		}
		if len(tasks) < wakePage {
			break
		}
	}
	return ids, ctx.Err()
}
