package queue

import (
	"context"
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
	turn  chan struct{} // held by the one that asks: while others wait for it, a virtual clock goes on

	asked   time.Time
	answers bool
}

func newAnswering() *answering {
	return &answering{local: storeclock.New().Local, turn: make(chan struct{}, 1)}
}

// Answers reports whether the queue answers, so that it takes back a task. In a cluster it
// may, while another node is away. It asks the queue at most once a second for all callers.
func (q *Queue) Answers(ctx context.Context) bool {
	a := q.answering
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	if now := a.local(); a.asked.IsZero() || now.Sub(a.asked) >= answersFor {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), answersWithin)
		defer done()
		a.answers = q.redis.Exists(ctx, "asynq:{"+q.name+"}:pending").Err() == nil
		a.asked = a.local()
	}
	return a.answers
}
