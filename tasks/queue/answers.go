package queue

import (
	"context"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// answersFor is how long a result is remembered.
	answersFor = time.Second
	// answersWithin is how long the queue may take to answer.
	answersWithin = 500 * time.Millisecond
)

// answering remembers whether the queues answer.
type answering struct {
	local func() time.Time
	mu    sync.Mutex
	of    map[string]*answer // by queue
}

// answer remembers whether one queue answers.
type answer struct {
	turn chan struct{} // held by the caller that asks; a virtual clock goes on while others wait for it

	asked   time.Time
	answers bool
}

func newAnswering() *answering {
	return &answering{local: storeclock.New().Local, of: make(map[string]*answer)}
}

func (a *answering) queue(name string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[name] == nil {
		a.of[name] = &answer{turn: make(chan struct{}, 1)}
	}
	return a.of[name]
}

// Answers reports whether the queue of ctx's task answers, and so can take the task back: in a
// cluster, its node may be down. It asks the queue at most once a second.
func (q *Queue) Answers(ctx context.Context) bool {
	name, ok := asynq.GetQueueName(ctx)
	if !ok {
		name = q.spread.first
	}
	a, local := q.answering.queue(name), q.answering.local
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	if now := local(); a.asked.IsZero() || now.Sub(a.asked) >= answersFor {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), answersWithin)
		defer done()
		a.answers = q.redis.Exists(ctx, key(name, "pending")).Err() == nil
		a.asked = local()
	}
	return a.answers
}
