package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// While the store's clock is ahead by a step, nothing is dropped as expired, sent early,
// forgotten or accepted. Once it is back, everything goes on.
func TestAStepOfTheStoresClockIsWaitedOut(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.work(relaying)
		s.accepted(s.message("before", 30*time.Second))
		s.accepted(s.message("soon", 2*time.Minute))
		s.accepted(s.message("later", 10*time.Minute))
		s.until(time.Minute)
		s.inOrder("before")

		s.storeAhead(30 * time.Hour)
		s.until(time.Minute + 5*time.Second)
		_, err := s.Submit(s.Context(), s.message("refused", 20*time.Minute))
		requireStepped(s, err)
		_, err = s.Move(s.Context(), "alice", "later", s.at(15*time.Minute))
		requireStepped(s, err)
		s.until(3 * time.Minute)
		s.inOrder("before")

		s.storeAhead(0)
		s.until(3*time.Minute + 5*time.Second)
		s.inOrder("before", "soon")
		near := s.message("near", 10*time.Minute+30*time.Second)
		require.Equal(s, message.Refused, s.submit(near).Outcome, "the places are as before")
		s.until(11 * time.Minute)
		s.inOrder("before", "soon", "later")
		s.ended("alice", "later", "d")
	})
}

// A clock that has stood for a while after a step is right: it may have been wrong before.
func TestAStepOfTheStoresClockIsAcceptedInTheEnd(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.work(relaying)
		s.accepted(s.message("a", time.Hour+10*time.Minute))
		s.until(time.Minute)
		s.storeAhead(time.Hour)
		for _, at := range []time.Duration{time.Minute + 5*time.Second, 6 * time.Minute} {
			s.until(at)
			_, err := s.Submit(s.Context(), s.message("b", 4*time.Hour))
			requireStepped(s, err)
		}
		s.until(6*time.Minute + 10*time.Second)
		s.accepted(s.message("b", 4*time.Hour))
		s.until(9*time.Minute + 50*time.Second)
		require.Empty(s, s.recorder.Deliveries())
		s.until(10*time.Minute + 10*time.Second)
		s.inOrder("a")
	})
}

// A notice that waits for its next try does not expire by a clock that has stepped.
func TestANoticeOutlivesAStepOfTheStoresClock(t *testing.T) {
	tell(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, RetryAfter: 30 * time.Second},
			{Status: notifier.Delivered},
		}}
		s.putReport()
		s.work(announces(&mail), sweeps(5*time.Second))
		s.until(20 * time.Second)
		require.Len(s, mail.all(), 1)

		s.storeAhead(60 * 24 * time.Hour)
		s.until(2 * time.Minute)
		require.Len(s, mail.all(), 1, "nothing is sent meanwhile")
		require.Equal(s, 1, s.waitingNotices(), "it was dropped as expired")

		s.storeAhead(0)
		s.until(3 * time.Minute)
		require.Len(s, mail.all(), 2)
		require.Zero(s, s.waitingNotices())
	})
}

func requireStepped(s *story, err error) {
	s.Helper()
	unavailable := &fault.UnavailableError{}
	require.ErrorAs(s, err, &unavailable)
	require.ErrorIs(s, err, fault.ErrClockStepped)
	require.Contains(s, err.Error(), "the clock of Redis has stepped forward by ")
}
