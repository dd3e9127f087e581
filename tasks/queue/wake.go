package queue

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// wakeTogether is how many tasks are woken at once.
const wakeTogether = 16

// WakeWaiting wakes the tasks that went back to the queue with an AgainError of a cause, which it
// recognizes by its text. It wakes a task at most once, even if it goes back meanwhile. The error is a
// *fault.UnavailableError, or that of ctx if it ends while the tasks are listed.
func (q *Queue) WakeWaiting(ctx context.Context, cause error) error {
	names, err := q.allNow(ctx)
	if err != nil {
		return err
	}
	failed := error(nil)
	for _, name := range names { // a master that is away holds up no other
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
	if len(ids) > 0 {
		defer q.arrivals.tell(ctx, q.redis)
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
			return nil // after any other error the task no longer waits
		})
	}
	return wakers.Wait()
}

// waitingFor lists the ids of the tasks of a queue that wait with an AgainError of a cause, the
// earliest first.
func (q *Queue) waitingFor(ctx context.Context, name string, cause error) ([]string, error) {
	var ids []string
	for tasks, err := range pages(q.inspector.ListRetryTasks, name) {
		if err != nil || ctx.Err() != nil {
			return nil, cmp.Or(err, ctx.Err())
		}
		for _, task := range tasks {
			if strings.HasSuffix(task.LastErr, cause.Error()) {
				ids = append(ids, task.ID)
			}
		}
	}
	return ids, ctx.Err()
}
