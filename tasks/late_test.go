package tasks_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/retry"
)

// An hour's messages fell due while no worker ran: they go out one a minute
// when there is one again, in their order, and those on time go on time.
func TestLateMessagesNeverBurst(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		for i := range 4 {
			s.accepted(s.message("late-"+strconv.Itoa(i), time.Duration(i+1)*10*time.Minute))
		}
		s.accepted(s.message("on-time", 61*time.Minute+30*time.Second))
		s.until(time.Hour)
		s.work()
		s.until(90 * time.Minute)
		first := s.recorder.Deliveries()[0]
		require.Less(s, first.At.Sub(s.at(time.Hour)), time.Second)
		s.delivered("late-0 +"+first.At.Sub(s.began).Truncate(time.Millisecond).String(),
			"on-time +1h1m30s", "late-1 +1h2m30s", "late-2 +1h3m30s", "late-3 +1h4m30s")
		for i := range 4 {
			s.ended("alice", "late-"+strconv.Itoa(i), "d")
			require.Equal(s, strconv.FormatInt(s.at(time.Duration(i+1)*10*time.Minute).UnixMilli(), 10),
				s.record("alice", "late-"+strconv.Itoa(i))["p"], "what it was promised for is remembered")
		}
		require.Equal(s, []string{"late-0", "on-time", "late-1", "late-2", "late-3"}, s.places())
		require.Empty(s, s.watched("alice"))
		synctest.Wait()
		require.Zero(s, s.queued())
	}, "1/minute", "6/hour")
}

// The workers were down for longer than the largest window and new messages
// came meanwhile: nothing that is to be sent is forgotten, and order is kept.
func TestDownForLongerThanTheLargestWindow(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		for i := range 5 {
			s.accepted(s.message(strconv.Itoa(i), time.Duration(i+1)*2*time.Minute))
		}
		for i := range 40 { // submits trim now and then
			s.until(20*time.Minute + time.Duration(i)*7*time.Millisecond)
			s.accepted(s.message("later-"+strconv.Itoa(i), 3*time.Hour+time.Duration(i)*time.Minute))
		}
		s.until(2 * time.Hour)
		s.workWhereDue(5 * time.Hour)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 45)
		for i := range 5 {
			require.Equal(s, strconv.Itoa(i), deliveries[i].Notification.ID)
		}
		s.apart(time.Minute)
	}, "1/minute")
}

// What can't be sent before its expiry is dropped, and gives its place and id
// back.
func TestPostponedUntilTheExpiryAtMost(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		for i := range 3 {
			m := s.message(strconv.Itoa(i), time.Duration(i+1)*time.Minute)
			m.ExpiresAt = s.at(62 * time.Minute)
			s.accepted(m)
		}
		s.until(time.Hour)
		s.work()
		s.until(65 * time.Minute)
		s.inOrder("0", "1")
		s.ended("alice", "2", "x")
		require.Equal(s, messages.ReasonNoFreeTime, s.record("alice", "2")["w"])
		require.Equal(s, []string{"0", "1"}, s.places())
	})
}

// A provider that is down for a while: what is tried again later is late by
// then, and is judged as any other late message.
func TestRetriesAreJudgedAnew(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work(func(o *tasks.WorkerOptions) {
			o.Retries = retry.Policy{Min: 10 * time.Second, Max: 20 * time.Second, Attempts: 3}
		})
		s.recorder.Script(unavailable())
		s.accepted(s.message("a", time.Minute), s.message("b", 2*time.Minute))
		s.until(5 * time.Minute)
		// a, tried again after five to ten seconds, would be closer than a minute to
		// b: it yields.
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 3)
		s.inOrder("a", "b", "a")
		require.GreaterOrEqual(s, deliveries[2].At.Sub(deliveries[1].At), time.Minute)
		require.Equal(s, s.at(time.Minute), deliveries[2].Notification.SendAt, "what was promised stays")
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
