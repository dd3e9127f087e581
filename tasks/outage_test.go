package tasks_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// away requires the error of a store that can't be used, with its code.
func (s *story) away(err error, code fault.Code) {
	s.Helper()
	var away *fault.UnavailableError
	require.ErrorAs(s, err, &away)
	require.NotEmpty(s, away.Detail)
	o := message.OutcomeOf(err)
	require.Equal(s, message.Errored, o.Outcome)
	require.Equal(s, code, o.Code)
}

// Without its store a submit fails, with an error of its own. It
// accepts nothing, and neither does it refuse.
func TestStoreDownFailsClosed(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("before", time.Hour))
		synctest.Wait()
		before := s.server.Dump()
		says := func(text string) func() { return func() { s.server.SetError(text) } }
		for _, down := range []struct {
			begin, end func()
			code       fault.Code
		}{
			{s.network.cut, s.network.mend, fault.CodeUnavailable},
			{says("LOADING Redis is loading the dataset in memory"), says(""), fault.CodeUnavailable},
			{says("READONLY You can't write against a read only replica."), says(""), fault.CodeUnavailable},
			{says("OOM command not allowed when used memory > 'maxmemory'."), says(""), fault.CodeStoreFull},
		} {
			down.begin()
			_, err := s.Submit(s.Context(), s.message("a", 2*time.Hour))
			s.away(err, down.code)
			_, err = s.Check(s.Context(), s.message("a", 2*time.Hour))
			s.away(err, down.code)
			_, err = s.Cancel(s.Context(), "alice", "before")
			s.away(err, down.code)
			_, err = s.Move(s.Context(), "alice", "before", s.at(2*time.Hour))
			s.away(err, down.code)
			down.end()
			time.Sleep(3 * time.Second) // the rules are old by now, and loaded again
		}
		require.Equal(s, before, s.server.Dump())
		s.accepted(s.message("a", 2*time.Hour))
	})
}

// A caller that gave up is told so, and not that the store is down.
func TestSubmitOfACallerThatGaveUp(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		_, err := s.Submit(ctx, s.message("b", 2*time.Hour))
		require.ErrorIs(s, err, context.Canceled)
		require.Equal(s, message.Outcome{Outcome: message.Errored, Detail: err.Error()}, message.OutcomeOf(err))
	})
}

// The provider has taken a message, and then the store is away for longer than
// the message's lease: it is recorded when the store is back, and not sent
// again.
func TestSettledAfterAnOutage(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for name, result := range map[string]notifier.Result{
		"delivered": {Status: notifier.Delivered},
		"failed":    {Status: notifier.Permanent, Reason: notifier.ReasonGone},
		"retried":   unavailable(),
	} {
		t.Run(name, func(t *testing.T) {
			tellSlowly(t, func(s *story) {
				s.work(func(o *tasks.WorkerOptions) { o.PushTimeout = 5 * time.Second })
				s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
					if n.Attempt > 1 {
						return notifier.Result{Status: notifier.Delivered}
					}
					s.network.cut()
					return result
				})
				s.accepted(s.message("a", 10*time.Second))
				s.until(50 * time.Second) // the lease ended at 25 s
				s.network.mend()
				s.until(4 * time.Minute)
				if result.Status == notifier.Retry {
					require.Len(s, s.recorder.Deliveries(), 2)
					s.ended("alice", "a", "d")
				} else {
					s.delivered("a +10s")
					s.ended("alice", "a", map[bool]string{true: "d", false: "f"}[result.Status == notifier.Delivered])
				}
				require.Equal(s, 0, s.queued())
			})
		})
	}
}

// A worker that cannot settle ends all the same when it is told to, within its
// shutdown time.
func TestStoppedDuringAnOutage(t *testing.T) {
	tellSlowly(t, func(s *story) {
		stop := s.work(func(o *tasks.WorkerOptions) { o.PushTimeout, o.ShutdownTimeout = time.Second, 3*time.Second })
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			s.network.cut()
			return notifier.Result{Status: notifier.Delivered}
		})
		s.accepted(s.message("a", time.Second))
		s.until(5 * time.Second)
		began := time.Now()
		stop()
		require.Less(s, time.Since(began), 10*time.Second)
		s.network.mend()
	})
}

// What is noted late about accepted messages does not hold up the end of a
// program whose store is gone.
func TestCloseDuringAnOutage(t *testing.T) {
	tellSlowly(t, func(s *story) {
		submitter := s.newSubmitter(submit.Options{})
		s.server.Server().SetPreHook(func(_ *server.Peer, command string, args ...string) bool {
			if command == "ZADD" && strings.EqualFold(args[1], "XX") { // what confirms
				time.Sleep(time.Hour)
			}
			return false
		})
		for i := range 1000 {
			m := s.message("a", time.Hour)
			m.User = strings.Repeat("u", i%256+1)
			m.ID = keyspace.NewToken()
			_, err := submitter.Submit(s.Context(), m)
			require.NoError(s, err)
		}
		began := time.Now()
		require.NoError(s, submitter.Close())
		require.NoError(s, submitter.Close(), "closing twice is harmless")
		require.LessOrEqual(s, time.Since(began), 6*time.Second)
		o, err := submitter.Submit(s.Context(), s.message("after", 2*time.Hour))
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, "and so is a submit after it")
		s.server.Server().SetPreHook(nil)
	}, "1000/minute")
}

// No user, no content and no secret is in the log, whatever happens.
func TestLogNamesNobody(t *testing.T) {
	tellSlowly(t, func(s *story) {
		log := new(bytes.Buffer)
		logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s.shared.Logger = logger
		s.Submitter = s.newSubmitter(submit.Options{})
		stop := s.work(retrying(2))
		m := message.Message{ID: "m1", User: "Malory", SendAt: s.at(time.Second), Title: "Tidings", Body: "Bodily"}
		m.Data = map[string]string{"Keyword": "Valued"}
		s.recorder.Script(unavailable(), unavailable())
		s.accepted(m)
		s.until(10 * time.Second)
		m.ID, m.SendAt = "m2", s.at(20*time.Second)
		s.accepted(m)
		s.until(15 * time.Second)
		s.enqueue(queue.TypeDeliver, `{"v":1,"user":"Malory\u0000","id":"Tidings","generation":"g","due":0}`, "garbage")
		s.until(16 * time.Second)
		s.network.cut()
		s.until(25 * time.Second)
		s.network.mend()
		s.until(2 * time.Minute)
		stop()
		require.Len(s, s.recorder.Deliveries(), 3)
		require.Contains(s, log.String(), "a delivery failed")
		require.Contains(s, log.String(), "dropped a task")
		for _, word := range []string{"Malory", "Tidings", "Bodily", "Keyword", "Valued"} {
			require.NotContains(s, log.String(), word)
		}
	})
}

// After a restore from an old backup: what was due before a time has been sent.
func TestDropDueBefore(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("sent-before", time.Minute), s.message("to-send", time.Hour))
		s.until(30 * time.Minute)
		s.workWhereDue(2*time.Hour, func(o *tasks.WorkerOptions) { o.DropDueBefore = s.at(30 * time.Minute) })
		s.delivered("to-send +1h0m0s")
		s.ended("alice", "sent-before", "u")
		require.Equal(s, messages.ReasonRestored, s.record("alice", "sent-before")["w"])
		require.Equal(s, []string{"sent-before", "to-send"}, s.places(), "it counts: it was sent")
	})
}
