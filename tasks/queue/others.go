package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/jobs"
)

// look looks for queues of the prefix that this program puts nothing into, but which have
// tasks: programs with another number of queues did. Until the next look they are part of
// all. Beside an error, it returns those that it found: one that does not answer stays if
// the last look found it.
func (q *Queue) look(ctx context.Context) (others []string, failed error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	const doing = "looking for queues with tasks"
	known, err := q.inspector.Queues()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	last := *q.spread.others.Load()
	for _, name := range known {
		if !ours(q.spread.first, name) || chosen.has(name) {
			continue
		}
		used, err := q.hasTasks(ctx, name)
		if err != nil {
			failed = store.Explain(err, doing)
		}
		if used || err != nil && slices.Contains(last, name) {
			others = append(others, name)
		}
	}
	q.spread.others.Store(&others)
	return others, failed
}

// hasTasks reports whether a queue has tasks that are to run or are running.
func (q *Queue) hasTasks(ctx context.Context, name string) (bool, error) {
	counts := make([]*redis.IntCmd, 0, 4)
	_, err := q.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, list := range []string{"pending", "active"} {
			counts = append(counts, pipe.LLen(ctx, key(name, list)))
		}
		for _, set := range []string{"scheduled", "retry"} {
			counts = append(counts, pipe.ZCard(ctx, key(name, set)))
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("counting tasks: %w", err)
	}
	for _, count := range counts {
		if count.Val() > 0 {
			return true, nil
		}
	}
	return false, nil
}

const (
	// lookAfter is after how many looks for due tasks a Server looks for other queues.
	lookAfter = 5
	// serveOtherFor is for how long a queue is served at least after it had a task: the
	// program that uses it may still run.
	serveOtherFor = time.Minute
)

// other is a queue that another number of queues has, and which is served for as long as it
// has tasks.
type other struct {
	server *asynq.Server
	used   time.Time // when it was last seen to have tasks, local
}

// startLooking serves other queues while they have tasks, until the returned function is
// called.
func (s *Server) startLooking(ctx context.Context) (stop func()) {
	return jobs.Start(ctx, s.options.Logger, jobs.Job{
		Every: lookAfter * s.queue.polling.Forward, Soon: true, Failed: "could not look for queues that other programs use: a later look does",
		Run: func(ctx context.Context) error { return s.lookForOthers(ctx, s.queue.answering.local()) },
	})
}

func (s *Server) lookForOthers(ctx context.Context, now time.Time) error {
	found, failed := s.queue.look(ctx)
	for _, name := range found {
		if s.others[name] == nil {
			started, err := s.start(name)
			if err != nil {
				return err
			}
			s.others[name] = &other{server: started}
			s.options.Logger.InfoContext(ctx, "serving a queue of programs with another number of queues", "queue", name)
		}
		s.others[name].used = now
	}
	var idle []*asynq.Server
	for name, o := range s.others {
		if now.Sub(o.used) > serveOtherFor {
			idle = append(idle, o.server)
			delete(s.others, name)
		}
	}
	s.shutdown(idle)
	return failed
}

// key returns the key of what asynq keeps of a queue.
func key(name, what string) string { return "asynq:{" + name + "}:" + what }

// all returns the queues of the prefix that may have tasks: those of this program, and the
// others that the last look found.
func (q *Queue) all(ctx context.Context) ([]string, error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(chosen.names), *q.spread.others.Load()...), nil
}

// allNow is all after a new look, if that succeeds.
func (q *Queue) allNow(ctx context.Context) ([]string, error) {
	_, _ = q.look(ctx) // what a failed look would have found is stale, or is found later
	return q.all(ctx)
}
