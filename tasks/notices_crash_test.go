package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// mortal is a process that dies at one of its calls, just before it or when the
// other side has done what was asked: from then on nothing of it goes on. Its
// calls are those of its client and its announcer, but for those that the queue
// and the relay make again and again without anything being in hand.
type mortal struct {
	names map[string]string // of scripts, by hash
	nth   int
	after bool

	mu     sync.Mutex
	calls  []string
	died   string
	buried chan struct{} // closed when the story is over
}

// step is passed before and after each call.
func (m *mortal) step(ctx context.Context, name string, do func() error) error {
	m.mu.Lock()
	if m.died == "" && name != "" {
		m.calls = append(m.calls, name)
	}
	here := name != "" && m.died == "" && len(m.calls) == m.nth
	if here {
		m.died = name
	}
	dead := m.died != "" && (!here || !m.after)
	m.mu.Unlock()
	if dead {
		return m.rest(ctx)
	}
	err := do()
	if here {
		return m.rest(ctx)
	}
	return err
}

// rest is all that goes on in a process that is dead.
func (m *mortal) rest(context.Context) error {
	<-m.buried
	return io.EOF
}

func (m *mortal) name(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 2 {
		return ""
	}
	name := m.names[fmt.Sprint(args[1])]
	if key := fmt.Sprint(args[1]); name == "" && cmd.Name() != "zrange" && strings.HasSuffix(key, "}:notices") {
		name = cmd.Name() + " notices"
	}
	if strings.HasPrefix(name, "notice/") || name == "account/find" || strings.HasSuffix(name, " notices") {
		return name
	}
	return ""
}

func (m *mortal) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (m *mortal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := m.step(ctx, m.name(cmd), func() error { return next(ctx, cmd) })
		if err != nil && cmd.Err() == nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (m *mortal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		name := ""
		for _, cmd := range cmds {
			if name = m.name(cmd); name != "" {
				break
			}
		}
		return m.step(ctx, name, func() error { return next(ctx, cmds) })
	}
}

// mortalAnnouncer dies before the mail server has the notice, or with its answer.
type mortalAnnouncer struct {
	*mortal

	mail *announcer
}

func (a mortalAnnouncer) Announce(ctx context.Context, to string, n notifier.Notice) (result notifier.Result) {
	if err := a.step(ctx, "announce", func() error {
		result = a.mail.Announce(ctx, to, n)
		return nil
	}); err != nil {
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonNetwork, Err: err}
	}
	return result
}

// A worker dies at each of its calls, one story after the other, and another
// worker is there: the notice is announced once, and twice only where the first
// died between the mail server's answer and its settlement.
func TestANoticeIsAnnouncedOnceWhereverAWorkerDies(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	points := make(map[string]int)
	for _, after := range []bool{false, true} {
		for nth, died := 1, "before the first"; died != ""; nth++ {
			synctest.Test(t, func(t *testing.T) { died = dieOver(t, newStory(t, seldom()), nth, after) })
			points[died]++
		}
	}
	for _, name := range []string{"notice/claim", "account/find", "announce", "notice/settle", "zadd notices"} {
		require.GreaterOrEqual(t, points[name], 2, "before and after %s: %v", name, points)
	}
}

// dieOver tells of a worker that dies at its n-th call, and returns which that
// was, "" where it lives.
func dieOver(t *testing.T, s *story, nth int, after bool) string {
	t.Helper()
	m := &mortal{names: lua.NamesByHash(), nth: nth, after: after, buried: make(chan struct{})}
	// The first try fails, so that what leads to the second has its points, too.
	mail := announcer{answers: []notifier.Result{
		{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("421")}, {Status: notifier.Delivered},
	}}
	s.putReport()
	s.hook = m
	ended := make(chan error, 1)
	worker, err := tasks.NewWorker(taskstest.Open(s, s.newClient(), s.shared), tasks.WorkerOptions{
		Notifier:   s.recorder,
		Announcer:  mortalAnnouncer{m, &mail},
		SweepEvery: 20 * time.Second,
		RelayEvery: 5 * time.Minute,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	go func() { ended <- worker.Run(ctx) }()
	time.Sleep(40 * time.Second)
	s.hook = nil
	stop := s.work(func(o *tasks.WorkerOptions) { o.Announcer, o.SweepEvery = &mail, 20*time.Second })
	// Once there is neither a notice nor a task, nothing can announce it again.
	for end := time.Now().Add(4 * time.Minute); ; {
		time.Sleep(5 * time.Second)
		if s.waitingNotices()+s.queued() == 0 || time.Now().After(end) {
			break
		}
	}
	stop()
	m.mu.Lock()
	died := m.died
	m.mu.Unlock()
	most := 2 // the one that failed, and the one that did not
	if died == "announce" && after || died == "notice/settle" && !after {
		most++
	}
	require.GreaterOrEqual(t, len(mail.all()), 2, "died at %q: %v", died, m.calls)
	require.LessOrEqual(t, len(mail.all()), most, "died at %q: %v", died, m.calls)
	for _, said := range mail.all() {
		require.Equal(t, mail.all()[0].notice, said.notice, "the same id, and the same words")
	}
	require.Zero(t, s.waitingNotices())
	dead, err := s.notices().ListDead(t.Context(), notices.Dead{}, 0)
	require.NoError(t, err)
	require.Empty(t, dead)
	cancel()
	close(m.buried)
	if err := <-ended; err != nil {
		require.ErrorIs(t, err, tasks.ErrUnfinished)
	}
	return died
}

// A notice that a mail server took while the store was away is told once, too. The race
// detector watches one round: it makes a round take six times as much processor time.
func TestANoticeIsToldOnceAfterAnOutageOfALease(t *testing.T) {
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			if seed > 0 {
				sendlimittest.Long(t)
			}
			tell(t, func(s *story) {
				random := rand.New(rand.NewPCG(seed, 2))
				upTo := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
				const pushTimeout, lease = 3 * time.Second, 13 * time.Second
				mail := slowMail{takes: time.Second + upTo(time.Second)}
				for range 2 {
					s.work(func(o *tasks.WorkerOptions) {
						o.PushTimeout, o.SettleMargin, o.SweepEvery = pushTimeout, lease-pushTimeout, 2*time.Second
						o.Announcer = &mail
					})
				}
				s.putReport()
				for len(mail.all()) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				s.network.cut() // before the mail server answers
				time.Sleep(lease - 2*time.Second + upTo(6*time.Second))
				s.network.mend()
				time.Sleep(30 * time.Second)
				require.Len(s, mail.all(), 1)
				require.Zero(s, s.waitingNotices())
			})
		})
	}
}
