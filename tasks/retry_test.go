package tasks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// unavailable is what a provider answers that is down for now.
func unavailable() notifier.Result {
	return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable}
}

// retrying is a retry policy of seconds.
func retrying(attempts int) func(*tasks.WorkerOptions) {
	return func(o *tasks.WorkerOptions) {
		o.Retries = retry.Policy{Min: time.Second, Max: 4 * time.Second, Attempts: attempts}
	}
}

// always has the recorder answer every delivery so.
func (s *story) always(result notifier.Result) {
	s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result { return result })
}

func TestRetriedWithBackoffUntilDelivered(t *testing.T) {
	tell(t, func(s *story) {
		s.work(retrying(8))
		s.recorder.Script(unavailable(), unavailable(), unavailable(), unavailable())
		m := s.message("a", time.Second)
		m.Data = map[string]string{"order": "17"}
		s.accepted(m)
		s.until(1400 * time.Millisecond)
		record := s.record("alice", "a")
		require.Equal(s, "1", record["n"], "counted in the record")
		require.Equal(s, "unavailable", record["w"])
		require.Equal(s, []string{"a"}, s.places(), "it keeps its place")
		require.True(s, s.submit(m).Replayed, "and its id")
		s.until(20 * time.Second)

		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 5)
		for i, backoff := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			waited := deliveries[i+1].At.Sub(deliveries[i].At)
			require.GreaterOrEqual(s, waited, backoff/2, "wait %d", i)
			require.LessOrEqual(s, waited, backoff+2*time.Millisecond, "wait %d", i)
		}
		for i, d := range deliveries {
			require.Equal(s, i+1, d.Notification.Attempt)
			require.Equal(s, m.Data, d.Notification.Data)
			require.Equal(s, m.SendAt, d.Notification.SendAt, "what was promised stays")
			require.Equal(s, deliveries[0].Notification.IdempotencyKey, d.Notification.IdempotencyKey)
		}
		s.ended("alice", "a", "d")
		require.Equal(s, []string{"a"}, s.places(), "what was sent counts")
		require.Zero(s, s.queued())
	})
}

// A provider that always answers 503 does not make an endless loop.
// Attempts are counted in the record: they outlast workers.
func TestAMessageFailsAfterItsLastAttempt(t *testing.T) {
	tell(t, func(s *story) {
		s.always(unavailable())
		stop := s.work(retrying(4))
		m := s.message("a", 10*time.Second)
		s.accepted(m)
		s.until(10*time.Second + 100*time.Millisecond)
		stop()
		s.work(retrying(4))
		s.until(25 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 4)
		s.ended("alice", "a", "f")
		require.Equal(s, "unavailable", s.record("alice", "a")["w"])
		require.Empty(s, s.places(), "what was not delivered does not count")
		require.Zero(s, s.queued())
		s.until(40 * time.Second)
		require.Len(s, s.recorder.Deliveries(), 4)

		// The id is free, with attempts of its own.
		s.recorder.AnswerWith(nil)
		again := m
		again.SendAt, again.Title = s.at(50*time.Second), "again"
		s.accepted(again)
		s.until(time.Minute)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 5)
		require.Equal(s, 1, deliveries[4].Notification.Attempt)
		require.Equal(s, "again", deliveries[4].Notification.Title)
	})
}

// A message that waits for its retry can still be cancelled and moved.
func TestRetryCanBeCancelledAndMoved(t *testing.T) {
	tell(t, func(s *story) {
		s.work(retrying(3))
		s.recorder.Script(unavailable(), unavailable())
		s.accepted(s.message("cancelled", 10*time.Second), s.message("moved", 20*time.Second))
		s.until(10*time.Second + 300*time.Millisecond)
		s.cancelled("cancelled")
		s.until(20*time.Second + 300*time.Millisecond)
		s.moved("moved", 30*time.Second)
		s.until(40 * time.Second)
		s.delivered("cancelled +10s", "moved +20s", "moved +30s")
		require.Equal(s, 2, s.recorder.Deliveries()[2].Notification.Attempt)
		s.ended("alice", "cancelled", "c")
		s.ended("alice", "moved", "d")
	}, "100/minute")
}

// A target without devices that says "gone" fails the message as a permanent failure does.
func TestPermanentFailureFreesThePlace(t *testing.T) {
	for _, status := range []notifier.Status{notifier.Permanent, notifier.Gone} {
		t.Run(status.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				s.work()
				s.recorder.Script(notifier.Result{Status: status, Reason: notifier.ReasonGone})
				s.accepted(s.message("a", time.Second))
				s.until(2 * time.Second)
				s.ended("alice", "a", "f")
				require.Equal(s, "gone", s.record("alice", "a")["w"])
				require.Empty(s, s.places())
				s.accepted(s.message("b", 3*time.Second)) // within the minute of what was never delivered
				s.until(10 * time.Second)
				s.delivered("a +1s", "b +3s")
				require.Zero(s, s.queued())
			})
		})
	}
}

// What outlives its expiry is dropped and its place freed, at the first
// delivery as at a retry.
func TestExpiredIsDropped(t *testing.T) {
	tell(t, func(s *story) {
		s.recorder.Script(notifier.Result{
			Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: 20 * time.Second,
		})
		own := s.message("own", 10*time.Second)
		own.ExpiresAt = s.at(2 * time.Minute)
		tried := s.message("tried", 140*time.Second)
		tried.ExpiresAt = s.at(160 * time.Second)
		s.accepted(own, s.message("default", 70*time.Second), tried)
		s.until(2 * time.Minute)
		s.shared.ExpireAfter = 50 * time.Second
		s.work()
		s.until(141 * time.Second)
		s.delivered("tried +2m20s")
		s.ended("alice", "own", "x")
		s.ended("alice", "default", "x")
		require.Equal(s, []string{"tried"}, s.places())
		s.until(165 * time.Second)
		s.delivered("tried +2m20s")
		s.ended("alice", "tried", "x")
		require.Empty(s, s.places())
		require.Zero(s, s.queued())
		own.SendAt, own.ExpiresAt = s.at(7*time.Minute), time.Time{}
		s.accepted(own) // the id is free
	})
}

// A provider that refuses too many calls for ever ends no message, and counts no attempt. The message
// expires, and its history says why it was not sent.
func TestTooManyRequestsUntilTheExpiry(t *testing.T) {
	tell(t, func(s *story) {
		calls := 0
		s.recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result {
			calls++
			return notifier.Result{
				Status: notifier.Retry, Reason: notifier.ReasonRateLimited, RetryAfter: 5 * time.Second, Err: errors.New("429: over quota"),
			}
		})
		m := s.message("a", time.Minute)
		m.ExpiresAt = s.at(5 * time.Minute)
		s.accepted(m)
		s.work(retrying(1))
		s.until(5*time.Minute - time.Second)
		require.Zero(s, s.status("a").EndedAt)
		s.until(6 * time.Minute)
		require.Greater(s, calls, 20)
		status := s.status("a")
		require.Equal(s, message.StatusDropped, status.Status)
		require.Equal(s, messages.ReasonExpired, status.Reason)
		require.Zero(s, status.Attempts)
		last := status.History[len(status.History)-2:]
		require.Equal(s, "rate_limited", last[0].Reason, "%v", last)
		require.Empty(s, s.places())
		require.Zero(s, s.queued())
	})
}

// A target that asks for later uses up no attempt. For one that refuses everybody see
// TestATargetThatRefusesAllIsProbedWithMessages.
func TestAskingForLaterIsNoAttempt(t *testing.T) {
	tell(t, func(s *story) {
		const wait = 20 * time.Second
		later := notifier.Result{Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: wait, Pause: notifier.PauseDevice}
		s.work(retrying(1))
		s.recorder.Script(later, later, later)
		s.accepted(s.message("a", time.Second), s.message("b", 10*time.Second))
		s.until(5 * time.Second)
		require.Equal(s, "0", s.record("alice", "a")["n"])
		require.Equal(s, string(later.Reason), s.record("alice", "a")["w"])
		s.until(4 * time.Minute)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 5)
		var of []time.Time
		for _, d := range deliveries {
			require.Equal(s, 1, d.Notification.Attempt)
			if d.Notification.ID == "a" {
				of = append(of, d.At)
			}
		}
		require.InDelta(s, wait, of[1].Sub(of[0]), float64(2*time.Millisecond))
		s.ended("alice", "a", "d")
		s.ended("alice", "b", "d")
		require.Zero(s, s.queued())
	}, "100/minute")
}
