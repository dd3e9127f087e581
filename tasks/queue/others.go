package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// soon is how long before a queue has a task to hand out it counts as having one.
const soon = 2 * time.Second

// look looks for lanes, and for queues of programs with another number of queues. Until the next
// look, those that have tasks are part of all. It returns for each whether it has tasks that run, or
// that are to run soon. Beside an error, it returns those that it found: one that does not answer
// is as the last look found it.
func (q *Queue) look(ctx context.Context) (atWork map[string]bool, failed error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	const doing = "looking for queues with tasks"
	known, err := q.inspector.Queues()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	var others []string
	atWork = make(map[string]bool)
	last := *q.spread.others.Load()
	for _, name := range known {
		if !ours(q.spread.first, name) || chosen.has(name) {
			continue
		}
		all, due, err := q.countTasks(ctx, name)
		if err != nil {
			failed = store.Explain(err, doing)
		}
		stays := err != nil && slices.Contains(last, name)
		if all > 0 || stays {
			others = append(others, name)
		}
		atWork[name] = due > 0 || stays
	}
	q.spread.others.Store(&others)
	return atWork, failed
}

// countTasks counts the tasks of a queue that are to run or are running, and those of them
// that do so soon.
func (q *Queue) countTasks(ctx context.Context, name string) (all, due int64, failed error) {
	now := q.answering.local()
	if q.clock != nil {
		now = q.clock.Now()
	}
	until := strconv.FormatInt(now.Add(soon).Unix(), 10)
	var both, total, timely []*redis.IntCmd
	_, err := q.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, list := range []string{"pending", "active"} {
			both = append(both, pipe.LLen(ctx, key(name, list)))
		}
		for _, set := range []string{"scheduled", "retry"} {
			total = append(total, pipe.ZCard(ctx, key(name, set)))
			timely = append(timely, pipe.ZCount(ctx, key(name, set), "-inf", until))
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("counting tasks: %w", err)
	}
	return sum(both) + sum(total), sum(both) + sum(timely), nil
}

func sum(counts []*redis.IntCmd) (n int64) {
	for _, count := range counts {
		n += count.Val()
	}
	return n
}

const (
	// serveOtherFor is for how long a queue is served at least after it had a task: the
	// program that uses it may still run.
	serveOtherFor = time.Minute
	// mostOthers is how many other queues a worker serves at a time: each costs the store a
	// few calls a second. If there are more, those without tasks make room at once, and the
	// others after othersTurn.
	mostOthers = 64
	othersTurn = 10 * time.Second
)

// other is a lane, or a queue that another number of queues has. It is served for as long as
// it has tasks, and known until it had none for a while.
type other struct {
	name   string
	server *asynq.Server // nil while it is not served
	began  time.Time     // when that began, local
	used   time.Time     // when it was last seen to have tasks, or first seen, local
}

// startLooking serves other queues while they have tasks, until the returned function is
// called. It looks at times, and at once when this program has put a task into a new lane.
func (s *Server) startLooking(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var looking sync.WaitGroup
	looking.Go(func() {
		every, away := s.queue.polling.Forward, false
		for again := true; again; again = storeclock.SleepOrWake(ctx, nil, s.queue.spread.herds.fresh, every/2+rand.N(every/2+1)) {
			err := s.lookForOthers(ctx, s.queue.answering.local())
			if err != nil && !away && ctx.Err() == nil {
				s.options.Logger.WarnContext(ctx, "could not look for lanes, and queues that other programs use: later looks do", "error", err)
			}
			away = err != nil
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}

func (s *Server) lookForOthers(ctx context.Context, now time.Time) error {
	found, failed := s.queue.look(ctx)
	var served int
	var waiting []*other
	for name, atWork := range found {
		o := s.others[name]
		if o == nil {
			o = &other{name: name, used: now}
			s.others[name] = o
		}
		if atWork {
			o.used = now
		}
		if o.server != nil {
			served++
		} else if atWork {
			waiting = append(waiting, o)
		}
	}
	served -= s.leaveOthers(ctx, now, served+len(waiting)-mostOthers)
	for _, o := range waiting[:min(len(waiting), mostOthers-served)] {
		if err := s.serveOther(ctx, o, served, now); err != nil {
			return err
		}
		served++
	}
	return failed
}

// serveOther begins to serve a queue beside a number of others.
func (s *Server) serveOther(ctx context.Context, o *other, beside int, now time.Time) (failed error) {
	at, lane := handlers, isLane(s.queue.spread.first, o.name)
	if lane {
		// Each further lane takes fewer tasks ahead: a worker's memory is bounded, and so is
		// what a lane can get.
		at = max(leastHandlers, handlers/(1+beside))
	}
	if o.server, failed = s.start(o.name, at); failed != nil {
		return failed
	}
	o.began = now
	if !lane {
		s.options.Logger.InfoContext(ctx, "serving a queue of programs with another number of queues", "queue", o.name)
	}
	return nil
}

// leaveOthers forgets queues that were empty for a while, and stops to serve as many as are too
// many. It returns how many are no longer served.
func (s *Server) leaveOthers(ctx context.Context, now time.Time, tooMany int) (left int) {
	for name, o := range s.others {
		empty := now.Sub(o.used)
		over := empty > serveOtherFor
		if over {
			delete(s.others, name)
		} else if o.server == nil || left >= tooMany || empty == 0 && now.Sub(o.began) <= othersTurn {
			continue
		}
		server := o.server
		o.server = nil
		if server != nil {
			left++
		}
		s.running.Go(func() {
			if server != nil {
				s.shutdown([]*asynq.Server{server})
			}
			if over && isLane(s.queue.spread.first, name) {
				s.queue.removeLane(context.WithoutCancel(ctx), name)
			}
		})
	}
	return left
}

// queuesKey is the key of asynq's list of queues (SET).
const queuesKey = "asynq:queues"

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
