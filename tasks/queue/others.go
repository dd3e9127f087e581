package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/internal/job"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// leastSoon is how long before a task is due its queue counts as having work, at least.
const leastSoon = 2 * time.Second

// counted has the numbers of a queue's tasks.
type counted struct {
	all  int64 // tasks that are to run or are running
	soon int64 // those of them that do so soon, or now
	done int64 // tasks that it ever did
}

// look finds lanes, and queues of programs with another number of queues. Those with tasks are
// part of all until the next look. It returns the counts of each. With an error, it returns the
// queues that answered, and all keeps the result of the last look.
func (q *Queue) look(ctx context.Context) (found map[string]counted, failed error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	const doing = "looking for queues with tasks"
	known, err := q.inspector.Queues()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return !ours(q.spread.first, name) || chosen.has(name) })
	found, err = q.countTasks(ctx, known)
	if err != nil {
		failed = store.Explain(err, doing)
	}
	var others []string
	last := *q.spread.others.Load()
	for _, name := range known {
		if c, answered := found[name]; c.all > 0 || !answered && slices.Contains(last, name) {
			others = append(others, name)
		}
	}
	q.spread.others.Store(&others)
	return found, failed
}

// countTasks counts the tasks of queues. Beside an error, it returns the queues that answered.
func (q *Queue) countTasks(ctx context.Context, names []string) (found map[string]counted, failed error) {
	found = make(map[string]counted)
	if len(names) == 0 {
		return found, nil
	}
	now := q.answering.local()
	if q.clock != nil {
		now = q.clock.Now()
	}
	// A look may be late, and then a poll.
	soon := max(leastSoon, 2*q.polling.Forward+q.polling.Fetch, q.polling.lookEvery()+q.polling.Forward)
	until := strconv.FormatInt(now.Add(soon).Unix(), 10)
	type asked struct {
		both, total, timely []*redis.IntCmd
		done                *redis.StringCmd
	}
	counts := make([]asked, len(names))
	_, _ = q.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each answer has its error
		for i, name := range names {
			a := &counts[i]
			for _, list := range []string{"pending", "active"} {
				a.both = append(a.both, pipe.LLen(ctx, key(name, list)))
			}
			for _, set := range []string{"scheduled", "retry"} {
				a.total = append(a.total, pipe.ZCard(ctx, key(name, set)))
				a.timely = append(a.timely, pipe.ZCount(ctx, key(name, set), "-inf", until))
			}
			a.done = pipe.Get(ctx, key(name, "processed"))
		}
		return nil
	})
	for i, name := range names {
		a := counts[i]
		var err error
		for _, cmd := range slices.Concat(a.both, a.total, a.timely) {
			err = errors.Join(err, cmd.Err())
		}
		done, noted := a.done.Int64()
		if errors.Is(noted, redis.Nil) {
			noted = nil
		}
		if err = errors.Join(err, noted); err != nil {
			failed = fmt.Errorf("counting tasks: %w", err)
			continue
		}
		found[name] = counted{sum(a.both) + sum(a.total), sum(a.both) + sum(a.timely), done}
	}
	return found, failed
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
	// maxOthers is how many other queues a worker serves at a time: each costs the store some
	// twenty calls a second, and a connection. If there are more, those without tasks make room
	// at once, and the others after othersTurn.
	maxOthers  = 64
	othersTurn = 10 * time.Second
)

// other is a lane, or a queue of another number of queues. It is served while it has tasks, and
// forgotten when it had none for a while.
type other struct {
	name     string
	servers  []*asynq.Server // none while it is not served
	handlers int             // of the servers together
	began    time.Time       // when they did, local
	used     time.Time       // when it was last seen to have tasks, or first seen, local
	atWork   bool            // at the last look
	done     int64           // as counted has it, at the last look
}

// startLooking serves other queues while they have tasks, until stop is called. It looks for them
// periodically, and at once when this program has put a task into a new lane.
func (s *Server) startLooking(ctx context.Context) (stop func()) {
	return job.Background(ctx, func(ctx context.Context) {
		var every time.Duration
		away := false
		for again := true; again; again = storeclock.SleepOrWake(ctx, nil, s.queue.spread.herds.fresh, every/2+rand.N(every/2+1)) {
			err := s.lookForOthers(ctx, s.queue.answering.local())
			if every = s.queue.polling.Forward; s.idle() {
				every = s.queue.polling.lookEvery()
			}
			if err != nil && !away && ctx.Err() == nil {
				s.options.Logger.WarnContext(ctx, "could not look for lanes, and queues that other programs use: later looks do", "error", err)
			}
			away = err != nil
		}
	})
}

// idle reports whether no task has come for a while, and no other queue has work.
func (s *Server) idle() bool {
	for _, o := range s.others {
		if o.atWork {
			return false
		}
	}
	return s.queue.arrivals.noneSince(s.queue.answering.local().Add(-s.queue.polling.idle()))
}

// lookForOthers starts to serve queues that have tasks, and stops for those that have none. While
// no queue answers, it changes nothing.
func (s *Server) lookForOthers(ctx context.Context, now time.Time) error {
	found, failed := s.queue.look(ctx)
	if found == nil {
		return failed
	}
	for name, has := range found {
		o := s.others[name]
		if o == nil {
			o = &other{name: name, used: now, done: has.done}
			s.others[name] = o
		}
		if o.atWork = has.soon > 0; o.atWork || has.done != o.done {
			o.used, o.done = now, has.done
		}
	}
	var waiting []*other
	served, working := 0, 0
	for _, o := range s.others {
		if len(o.servers) > 0 {
			served++
		} else if o.atWork {
			waiting = append(waiting, o)
		}
		if o.atWork {
			working++
		}
	}
	slices.SortFunc(waiting, func(a, b *other) int { return a.began.Compare(b.began) }) // in turn
	served -= s.leaveOthers(ctx, now, served+len(waiting)-maxOthers)
	for _, o := range waiting[:max(0, min(len(waiting), maxOthers-served))] {
		o.began = now
		if !isLane(s.queue.spread.first, o.name) {
			s.options.Logger.InfoContext(ctx, "serving a queue of programs with another number of queues", "queue", o.name)
		}
		if err := s.widen(o, working); err != nil {
			return err
		}
	}
	for _, o := range s.others {
		if o.atWork && len(o.servers) > 0 {
			if err := s.widen(o, working); err != nil {
				return err
			}
		}
	}
	return failed
}

// widen gives a queue its share of the handlers, with working queues at work, if it has less than
// half of that. More lanes get smaller shares, to bound a worker's memory.
func (s *Server) widen(o *other, working int) error {
	share := handlers
	if isLane(s.queue.spread.first, o.name) {
		share = max(leastHandlers, handlers/max(1, working))
	}
	if o.handlers > share/2 {
		return nil
	}
	started, err := s.start(o.name, share-o.handlers)
	if err != nil {
		return err
	}
	o.servers, o.handlers = append(o.servers, started), share
	return nil
}

// leaveOthers forgets queues that were empty for a while, and stops serving tooMany others. It
// returns how many are no longer served.
func (s *Server) leaveOthers(ctx context.Context, now time.Time, tooMany int) (left int) {
	for name, o := range s.others {
		empty := now.Sub(o.used)
		over := empty > serveOtherFor
		if over {
			delete(s.others, name)
		} else if len(o.servers) == 0 || left >= tooMany || o.atWork && now.Sub(o.began) <= othersTurn {
			continue
		}
		servers := o.servers
		if o.servers, o.handlers = nil, 0; len(servers) > 0 {
			left++
		}
		s.running.Go(func() {
			s.shutdown(servers)
			if over && isLane(s.queue.spread.first, name) {
				s.queue.removeLane(context.WithoutCancel(ctx), name)
			}
		})
	}
	return left
}

// queuesKey is the key of asynq's list of queues (SET).
const queuesKey = "asynq:queues"

// key returns the key of one kind of asynq's data about a queue.
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
