package tasks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// The queue knows whole seconds only, and looks for what is due every now and
// then. Nothing goes out early for that; on a store that is not busy, nothing
// goes out late either.
func TestDeliveredToTheMillisecond(t *testing.T) {
	tell(t, func(s *story) {
		// The queue's looks, 200 ms apart, fall just before the full second, when
		// something can first become due for it.
		s.until(199 * time.Millisecond)
		s.work()
		const users, span = 300, 20 * time.Second
		random := rand.New(rand.NewPCG(1, 2))
		due := map[string]time.Time{}
		for i := range users {
			m := s.message("same-id", 2*time.Second+time.Duration(random.Int64N(span.Milliseconds()))*time.Millisecond)
			m.User = fmt.Sprintf("user-%d", i)
			s.accepted(m)
			due[m.User] = m.SendAt
		}
		s.until(2*time.Second + span + time.Second)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, users)
		for _, d := range deliveries {
			late := d.At.Sub(due[d.Notification.User])
			require.GreaterOrEqual(s, late, time.Duration(0), "early")
			require.Less(s, late, time.Millisecond) // the store tells the time in milliseconds
			delete(due, d.Notification.User)
		}
		require.Empty(s, due)
		require.Zero(s, s.queued())
	})
}

// What the caller said is what the channel gets.
func TestEverythingReachesTheChannel(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work()
		m := message.Message{
			ID: "order:17", User: "alice / ü", SendAt: s.at(2*time.Second + 5*time.Millisecond), Category: "orders",
			Title: "Shipped <b>", Body: "It is \"on\" its way 🙂\n", Data: map[string]string{"order": "17", "": "empty"},
			Campaign: "Spring.26", Metadata: map[string]string{"source": "<shop>", "long": strings.Repeat("ü", 200), "empty": ""},
			OnConflict: message.OnConflictShift, ShiftUntil: s.at(time.Hour), ExpiresAt: s.at(2 * time.Hour),
		}
		s.accepted(m)
		second := m
		second.ID = "order:18"
		require.True(s, s.submit(second).Shifted)
		s.until(2 * time.Minute)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 2)
		want := notifier.Notification{
			ID: m.ID, User: m.User, Category: m.Category, Title: m.Title, Body: m.Body, Data: m.Data,
			Campaign: m.Campaign, Metadata: m.Metadata,
			ExpiresAt: m.ExpiresAt,
			SendAt:    m.SendAt, Attempt: 1, IdempotencyKey: notifier.IdempotencyKey("", m.User, m.ID),
		}
		require.Equal(s, want, deliveries[0].Notification)
		want.ID, want.IdempotencyKey = second.ID, notifier.IdempotencyKey("", m.User, second.ID)
		want.SendAt, want.RequestedAt = m.SendAt.Add(time.Minute), m.SendAt
		require.Equal(s, want, deliveries[1].Notification)
		require.Equal(s, "d", s.record(m.User, m.ID)["s"])

		status, _, err := s.Status(s.Context(), m.User, m.ID)
		require.NoError(s, err)
		require.Equal(s, m.Campaign, status.Campaign)
		require.Equal(s, m.Metadata, status.Metadata, "the caller's own stays when the content has gone")
		require.Empty(s, status.Content)
		for name, edit := range map[string]func(*message.Message){
			"campaign": func(other *message.Message) { other.Campaign = "Spring.27" },
			"metadata": func(other *message.Message) { other.Metadata = nil },
		} {
			other := m
			edit(&other)
			require.Equal(s, fault.CodeIDReused, s.submit(other).Code, name)
		}
		require.True(s, s.submit(m).Replayed)
	})
}

// What a provider calls a message is kept with it.
func TestTheProvidersNameIsKept(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		s.recorder.Script(notifier.Result{Status: notifier.Delivered, ProviderID: "msg-17"})
		s.accepted(s.message("a", time.Second))
		s.until(2 * time.Second)
		require.Equal(s, "msg-17", s.record("alice", "a")["i"])
	})
}

// Content that cannot be read, which only a program at fault can have written,
// fails its message instead of being tried for ever.
func TestUnreadableContentFails(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Second))
		keys := s.keys()
		require.NoError(s, s.client.HSet(s.Context(), keys.Record("alice", "a"), "c", "{").Err())
		s.work()
		s.until(10 * time.Second)
		s.delivered()
		s.ended("alice", "a", "f")
		require.Equal(s, "rejected", s.record("alice", "a")["w"])
		require.Zero(s, s.queued())
	})
}

// A channel that breaks its promise and panics takes nothing with it: neither
// the worker nor a delivery slot.
func TestChannelThatPanics(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			if n.ID == "bad" && n.Attempt < 3 {
				panic("at the disco")
			}
			return notifier.Result{Status: notifier.Delivered}
		})
		s.work(func(o *tasks.WorkerOptions) { o.Deliveries, o.PushTimeout = 1, time.Second })
		s.accepted(s.message("bad", time.Second), s.message("good", 61*time.Second))
		s.until(2 * time.Minute)
		s.ended("alice", "bad", "d")
		s.ended("alice", "good", "d")
		require.Equal(s, "3", s.record("alice", "bad")["n"])
	}, "2/minute")
}

// A delivery is logged at debug level, by its id: not by its user, and without content.
func TestADeliveryIsLoggedAtDebugLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 1, slog.LevelInfo: 0} {
		t.Run(level.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				log := new(bytes.Buffer)
				s.shared.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
				s.work()
				m := s.message("order-17", 5*time.Second)
				m.User, m.Title, m.Body = "wilhelmina", "Hello Wilma", "A secret"
				s.accepted(m)
				s.until(7 * time.Second)
				require.Len(s, s.recorder.Deliveries(), 1)
				require.Equal(s, want, strings.Count(log.String(), "level=DEBUG msg=delivered id=order-17 attempt=1 late="), log)
				for _, private := range []string{"wilhelmina", "Wilma", "secret"} {
					require.NotContains(s, log.String(), private)
				}
			})
		})
	}
}

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
