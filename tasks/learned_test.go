package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/tasks"
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

// learned requires that the calls in a span of a story used the limit, and few were refused.
func (l *limitedTarget) learned(s *story, from, to time.Duration) {
	s.Helper()
	delivered, refused := l.answered(notifier.Delivered, s.at(from), s.at(to)), l.answered(notifier.Retry, s.at(from), s.at(to))
	require.Greater(s, float64(delivered), .85*l.rate*(to-from).Seconds())
	require.Less(s, float64(refused), .02*float64(delivered))
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
		const rate, users = 20, 600
		target := &limitedTarget{rate: rate, answers: make(map[notifier.Status][]time.Time)}
		s.recorder.AnswerWith(target.answer)
		s.work(retrying(1))
		s.work(retrying(1))
		s.many(users, 2*time.Second)
		s.until(28 * time.Second)
		target.learned(s, 12*time.Second, 28*time.Second)
		s.until(40 * time.Second)
		require.Equal(s, users, target.answered(notifier.Delivered, s.began, s.at(40*time.Second)))
		require.Zero(s, s.queued())
	})
}

// atHosts is a channel whose devices are at two hosts, "slow" and "fast". The slow one limits calls, and
// does not say whether it means the device. As in package webpush, three refusals in a row concern the
// host.
type atHosts struct {
	*phone

	slow *limitedTarget

	mu    sync.Mutex
	inRow int
}

func (a *atHosts) HostOf(address string) string {
	if strings.Contains(address, "slow") {
		return "slow"
	}
	return "fast"
}

func (a *atHosts) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	a.phone.Notify(ctx, n)
	if a.HostOf(n.Device.Address) == "fast" {
		return notifier.Result{Status: notifier.Delivered}
	}
	r := a.slow.answer(ctx, n)
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Status == notifier.Delivered {
		a.inRow = 0
		return r
	}
	r.Status, r.RetryAfter, r.Pause = notifier.SlowDown, time.Second, notifier.PauseHost
	if a.inRow++; a.inRow < 3 {
		r.Pause, r.Unclear = notifier.PauseDevice, true
	}
	return r
}

// A host that limits calls slows down no other host of its channel, and no other channel.
func TestAHostThatLimitsCallsIsLearned(t *testing.T) {
	tell(t, func(s *story) {
		p := newPhones(s)
		hosts := &atHosts{phone: p.fcm, slow: &limitedTarget{rate: 40, answers: make(map[notifier.Status][]time.Time)}}
		s.work(retrying(1), p.usePaced, func(o *tasks.WorkerOptions) { o.Channels[0].Notifier = hosts })
		submit := func(kind string, users int, after time.Duration) {
			for i := range users {
				user := fmt.Sprintf("%s-%d", kind, i)
				p.has(user, "f")
				p.accepted(p.to(user, "m", after))
			}
		}
		submit("slow", 700, 2*time.Second)
		submit("fast", 50, 14*time.Second)
		p.crowdOf("a", 50, 14*time.Second)
		s.until(16 * time.Second)
		require.Len(s, p.callsOf(p.apns), 50)
		require.Len(s, slices.DeleteFunc(p.fcm.Deliveries(), func(d notifiertest.Delivery) bool {
			return !strings.HasPrefix(d.Notification.User, "fast")
		}), 50)
		s.until(20 * time.Second)
		hosts.slow.learned(s, 12*time.Second, 20*time.Second)
	}, "1000/hour")
}
