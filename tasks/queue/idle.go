package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// resting is a client for an asynq server that does not ask the store for work while it knows that
// there is none. asynq asks some twenty times a second: it has no call that waits for a task. Once a
// queue had no work for Polling.idle, the client looks at it every Polling.lookEvery, and otherwise
// answers asynq itself: until a task is due, or a program tells of a new one, see arrivals. While it
// can't be told, it asks the store each time.
type resting struct {
	redis.UniversalClient

	queue *Queue
	mu    sync.Mutex
	of    map[string]*rest // by queue
}

// rest is what a worker knows about one queue. Times are local.
type rest struct {
	worked  time.Time // when the queue last had work
	looked  time.Time // when the last look began
	until   time.Time // when the queue may have work, by the last look
	looking bool
}

func newResting(q *Queue) *resting {
	return &resting{UniversalClient: q.redis, queue: q, of: make(map[string]*rest)}
}

// EvalSha runs a script, unless it would find no work.
func (r *resting) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	name, takes, forwards := asksForWork(keys)
	if (takes || forwards) && r.rests(ctx, name) {
		cmd := redis.NewCmd(ctx)
		if takes {
			cmd.SetErr(redis.Nil)
		} else {
			cmd.SetVal(int64(0))
		}
		return cmd
	}
	cmd := r.UniversalClient.EvalSha(ctx, hash, keys, args...)
	if cmd.Err() != nil {
		return cmd
	}
	switch moved, _ := cmd.Val().(int64); {
	case takes || forwards && moved > 0:
		r.work(name)
	case !forwards && comesBack(keys):
		r.queue.arrivals.tell(ctx, r.UniversalClient)
	}
	return cmd
}

// asksForWork returns the queue of asynq's script with these keys, and whether it takes a task or
// moves due tasks to the waiting ones.
func asksForWork(keys []string) (name string, takes, forwards bool) {
	if len(keys) < 2 {
		return "", false, false
	}
	first := kind(keys[0])
	name, _, _ = strings.Cut(strings.TrimPrefix(keys[0], "asynq:{"), "}:")
	return name, takesTask(keys), (first == "scheduled" || first == "retry") && kind(keys[1]) == "pending"
}

// comesBack reports whether asynq's script with these keys gives a task back to the queue.
func comesBack(keys []string) bool {
	for _, key := range keys {
		if kind := kind(key); kind == "pending" || kind == "retry" {
			return true
		}
	}
	return false
}

// work notes that a queue has work.
func (r *resting) work(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest(name).worked = r.queue.answering.local()
}

// rest returns what is known about a queue. The caller has the lock.
func (r *resting) rest(name string) *rest {
	if r.of[name] == nil {
		r.of[name] = new(rest)
	}
	return r.of[name]
}

// rests reports whether a queue is known to have no work. It looks if that was long ago.
func (r *resting) rests(ctx context.Context, name string) bool {
	idle, now := r.queue.polling.idle(), r.queue.answering.local()
	r.mu.Lock()
	q := r.rest(name)
	switch {
	case now.Sub(q.worked) < idle || !r.queue.arrivals.noneSince(now.Add(-idle)):
		r.mu.Unlock()
		return false
	case now.Before(q.until) && r.queue.arrivals.noneSince(q.looked) || q.looking:
		r.mu.Unlock()
		return true
	}
	q.looking, q.looked = true, now
	r.mu.Unlock()
	wait, err := r.look(ctx, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	q.looking = false
	if err != nil || wait <= 0 {
		q.worked = now
		return false
	}
	q.until = now.Add(wait)
	return true
}

// look returns how long a queue has no work, unless a task is added: zero if it has some.
func (r *resting) look(ctx context.Context, name string) (wait time.Duration, err error) {
	var waiting *redis.IntCmd
	var first [2]*redis.ZSliceCmd
	if _, err := r.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		waiting = pipe.LLen(ctx, key(name, "pending"))
		for i, set := range []string{"scheduled", "retry"} {
			first[i] = pipe.ZRangeWithScores(ctx, key(name, set), 0, 0)
		}
		return nil
	}); err != nil || waiting.Val() > 0 {
		return 0, err
	}
	wait = r.queue.polling.lookEvery()
	for _, tasks := range first {
		for _, task := range tasks.Val() {
			wait = min(wait, time.Unix(int64(task.Score), 0).Sub(r.queue.clock.Now()))
		}
	}
	return wait, nil
}
