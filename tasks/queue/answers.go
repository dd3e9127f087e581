package queue

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

const (
	// answersFor is for how long an answer of the queue is remembered.
	answersFor = time.Second
	// answersWithin is how long the queue may take for it.
	answersWithin = 500 * time.Millisecond
)

// answering remembers whether the queue answers.
type answering struct {
	local func() time.Time

	mu      sync.Mutex
	asked   time.Time
	answers bool
}

func newAnswering() *answering { return &answering{local: storeclock.New().Local} }

// Answers reports whether the queue answers, so that it takes back a task. In a cluster it
// may, while another node is away. It asks the queue at most once a second for all callers.
func (q *Queue) Answers(ctx context.Context) bool {
	a := q.answering
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.local(); a.asked.IsZero() || now.Sub(a.asked) >= answersFor {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), answersWithin)
		defer done()
		a.answers = q.redis.Exists(ctx, "asynq:{"+q.name+"}:pending").Err() == nil
		a.asked = a.local()
	}
	return a.answers
}
