package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// limited is a receiver with a bucket of tokens.
type limited struct {
	mu                sync.Mutex
	rate, burst       float64
	tokens            float64
	at                time.Time
	retryAfter        time.Duration
	accepted, refused map[int]int
	began             time.Time
}

func (l *limited) answer(context.Context, notifier.Notification) notifier.Result {
	time.Sleep(5 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tokens = min(l.burst, l.tokens+now.Sub(l.at).Seconds()*l.rate)
	l.at = now
	second := int(now.Sub(l.began).Seconds())
	if l.tokens < 1 {
		l.refused[second]++
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: l.retryAfter}
	}
	l.tokens--
	l.accepted[second]++
	return notifier.Result{Status: notifier.Delivered}
}

func TestLearned(t *testing.T) {
	for name, after := range map[string]time.Duration{"1s": time.Second, "none": 0} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				l := &limited{rate: 50, burst: 20, retryAfter: after, accepted: map[int]int{}, refused: map[int]int{}, began: s.began}
				s.recorder.AnswerWith(l.answer)
				s.work()
				s.work()
				s.many(1500, 2*time.Second)
				s.until(32 * time.Second)
				sum, ref := 0, 0
				for i := range 32 {
					sum += l.accepted[i]
					ref += l.refused[i]
					s.Logf("%d: %d %d", i, l.accepted[i], l.refused[i])
				}
				s.Logf("%d %d", sum, ref)
			})
		})
	}
}
