package tasks_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// states notes what the store knows of a delivery whenever something follows its answer.
type states struct {
	slog.Handler

	look func() string

	mu   sync.Mutex
	seen []string
}

func (l *states) see(what string) {
	state := l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, what+": "+state)
}

func (l *states) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

func (l *states) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs returns the same handler: what is noted has no attributes.
func (l *states) WithAttrs([]slog.Attr) slog.Handler { return l }

// Handle looks before it logs, as a log that nobody reads holds up who writes it.
func (l *states) Handle(_ context.Context, r slog.Record) error {
	switch r.Message {
	case "delivered", "a delivery failed", "could not deliver an alert: trying again later",
		"gave up an alert: it is among the dead letters":
		l.see(r.Message)
	}
	return nil
}

// A worker that dies between the provider's answer and its record makes a message arrive
// twice. So nothing comes between them: no log, and nothing that the channel still has to do
// with its connection.
func TestAResultIsStoredBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		result notifier.Result
		want   []string
	}{
		{notifier.Result{Status: notifier.Delivered}, []string{"delivered: d", "cleanup: d"}},
		{
			notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone},
			[]string{"a delivery failed: f", "cleanup: f"},
		},
		{
			notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: time.Hour},
			[]string{"a delivery failed: ", "cleanup: "},
		},
	} {
		t.Run(row.result.Status.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				seen := &states{look: func() string { return s.record("alice", "a")["s"] }}
				s.shared.Logger = slog.New(seen)
				s.recorder.AnswerWith(func(ctx context.Context, _ notifier.Notification) notifier.Result {
					require.Equal(s, "s", seen.look(), "it is being sent")
					notifier.Cleanup(ctx, func() {
						require.NoError(s, ctx.Err())
						seen.see("cleanup")
					})
					return row.result
				})
				s.work()
				s.accepted(s.message("a", 5*time.Second))
				s.until(10 * time.Second)
				require.Equal(s, row.want, seen.all())
			})
		})
	}
}

// The same holds for notices.
func TestAResultOfANoticeIsStoredBeforeAnythingElse(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const failed = "could not deliver an alert: trying again later"
	for _, row := range []struct {
		result notifier.Result
		want   []string
	}{
		{notifier.Result{Status: notifier.Delivered}, []string{"cleanup: d"}},
		{
			notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone},
			[]string{"gave up an alert: it is among the dead letters: f", "cleanup: f"},
		},
		{
			notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: time.Hour},
			[]string{failed + ": ", "cleanup: "},
		},
	} {
		t.Run(row.result.Status.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				id := s.putReport()
				keys := s.keys()
				seen := &states{look: func() string {
					return s.client.HGet(s.Context(), keys.Notice("shop", id), keyspace.NoticeState).Val()
				}}
				s.shared.Logger = slog.New(seen)
				s.work(sweeps(time.Minute), func(o *tasks.WorkerOptions) {
					o.Announcer = announceFunc(func(ctx context.Context) notifier.Result {
						notifier.Cleanup(ctx, func() {
							require.NoError(s, ctx.Err())
							seen.see("cleanup")
						})
						return row.result
					})
				})
				s.until(3 * time.Minute)
				require.Equal(s, row.want, seen.all())
			})
		})
	}
}

// announceFunc is an announcer that only answers.
type announceFunc func(ctx context.Context) notifier.Result

func (f announceFunc) Announce(ctx context.Context, _ string, _ notifier.Notice) notifier.Result {
	return f(ctx)
}

// stuckRenewal holds every renewal of a notice's lease until the notice is settled.
type stuckRenewal struct {
	names          map[string]string // of scripts, by hash
	began, settled chan struct{}     // closed
	once           sync.Once
}

func (h *stuckRenewal) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	name := ""
	if args := cmd.Args(); len(args) > 1 {
		sha, _ := args[1].(string)
		name = h.names[sha]
	}
	switch name {
	case "notice/renew":
		h.once.Do(func() { close(h.began) })
		select {
		case <-h.settled:
		case <-time.After(time.Hour):
		}
	case "notice/settle":
		defer sync.OnceFunc(func() { close(h.settled) })()
	}
	return next(ctx, cmd)
}

// A renewal of the lease that the store does not answer does not hold up the settlement.
func TestASettlementDoesNotWaitForARenewal(t *testing.T) {
	tell(t, func(s *story) {
		hook := &stuckRenewal{names: lua.NamesByHash(), began: make(chan struct{}), settled: make(chan struct{})}
		s.hook = redistest.Commands(hook.onCommand)
		s.putReport()
		var answered time.Time
		s.work(sweeps(time.Minute), func(o *tasks.WorkerOptions) {
			o.Announcer = announceFunc(func(context.Context) notifier.Result {
				<-hook.began
				answered = time.Now()
				return notifier.Result{Status: notifier.Delivered}
			})
		})
		<-hook.settled
		require.Less(s, time.Since(answered), time.Second)
		require.Zero(s, s.waitingNotices())
	})
}
