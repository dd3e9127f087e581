package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// limitedTarget accepts calls at a rate, refuses the others, and does not say for how long.
type limitedTarget struct {
	rate float64 // calls in a second

	mu      sync.Mutex
	tokens  float64
	at      time.Time
	answers map[notifier.Status][]time.Time
}

func (l *limitedTarget) answer(context.Context, notifier.Notification) notifier.Result {
	time.Sleep(5 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tokens = min(l.rate/10, l.tokens+now.Sub(l.at).Seconds()*l.rate)
	l.at = now
	r := notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonRateLimited}
	if l.tokens >= 1 {
		l.tokens--
		r = notifier.Result{Status: notifier.Delivered}
	}
	l.answers[r.Status] = append(l.answers[r.Status], now)
	return r
}

// answered returns how many calls had an answer in a span of time.
func (l *limitedTarget) answered(status notifier.Status, from, to time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.answers[status] {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// All messages are due at once. The workers find out how fast the target accepts them, and no refusal
// counts as an attempt.
func TestATargetThatLimitsCallsIsLearned(t *testing.T) {
	tell(t, func(s *story) {
		const rate, users = 40, 1200
		target := &limitedTarget{rate: rate, answers: make(map[notifier.Status][]time.Time)}
		s.recorder.AnswerWith(target.answer)
		s.work(retrying(1))
		s.work(retrying(1))
		s.many(users, 2*time.Second)
		s.until(28 * time.Second)
		from, to := s.at(12*time.Second), s.at(28*time.Second)
		delivered, refused := target.answered(notifier.Delivered, from, to), target.answered(notifier.Retry, from, to)
		require.Greater(s, float64(delivered), .85*rate*to.Sub(from).Seconds())
		require.Less(s, float64(refused), .02*float64(delivered))
		s.until(40 * time.Second)
		require.Equal(s, users, target.answered(notifier.Delivered, s.began, s.at(40*time.Second)))
		require.Zero(s, s.queued())
	})
}
