package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// hear lets somebody listen to all accounts from now on.
func (s *story) hear() {
	s.Helper()
	listeners := events.NewListeners(s.client, keyspace.KeysUnder(""))
	require.NoError(s, listeners.Listen(s.Context(), keyspace.Everyone, time.Now().Add(24*time.Hour)))
}

// heard lists the events in the log of all accounts, as "type id".
func (s *story) heard() []string {
	s.Helper()
	log, err := events.NewLog(s.client, events.Options{})
	require.NoError(s, err)
	read, err := log.Read(s.Context(), keyspace.Everyone, "", events.MaxRead)
	require.NoError(s, err)
	heard := []string{}
	for _, e := range read {
		heard = append(heard, string(e.Type)+" "+e.MessageID)
	}
	return heard
}

// oftenRelay lets a worker go round the partitions as often as programs do.
func oftenRelay(o *tasks.WorkerOptions) { o.RelayEvery = 5 * time.Second }

// Two seconds after somebody begins to listen, every change is an event, and soon after it in
// the log.
func TestWhoBeginsToListenHearsOfEveryChange(t *testing.T) {
	tell(t, func(s *story) {
		s.work(oftenRelay)
		s.accepted(s.message("before", 5*time.Second), s.message("later", 30*time.Second), s.message("own", 40*time.Second))
		s.until(10 * time.Second)
		require.Empty(t, s.heard())
		s.hear()
		s.until(12 * time.Second)
		s.until(30*time.Second + 300*time.Millisecond)
		require.Equal(t, []string{"delivered later"}, s.heard(), "within 300 ms")
	}, "100/minute")
}

// A program that gathers nothing, such as the command line, asks once who listens. A worker
// finds what it wrote.
func TestAWorkerGathersTheEventsOfOtherPrograms(t *testing.T) {
	tell(t, func(s *story) {
		s.hear()
		s.accepted(s.message("a", time.Hour), s.message("b", time.Hour+time.Second))
		b := taskstest.Open(s, s.client, s.shared)
		require.NoError(t, b.Listen.Load(s.Context()))
		s.Submitter = s.newSubmitterOn(b, submit.Options{})
		s.cancelled("a")
		s.moved("b", 2*time.Hour)
		require.Empty(t, s.heard())
		s.work(oftenRelay)
		s.work(oftenRelay)
		s.until(10 * time.Second)
		require.Equal(t, []string{"cancelled a", "moved b"}, s.heard())
	}, "100/minute")
}

// A worker that stops gathers what it wrote.
func TestAWorkerThatStopsLeavesNoEventBehind(t *testing.T) {
	tell(t, func(s *story) {
		s.hear()
		stop := s.work()
		s.accepted(s.message("a", 10*time.Second))
		s.until(10*time.Second + 50*time.Millisecond)
		require.Empty(t, s.heard())
		stop()
		require.Equal(t, []string{"delivered a"}, s.heard())
	}, "100/minute")
}

// While the store is away nothing is gathered, and nothing is lost.
func TestEventsAreGatheredAfterAnOutage(t *testing.T) {
	tell(t, func(s *story) {
		s.hear()
		s.work(oftenRelay)
		s.accepted(s.message("a", 10*time.Second))
		s.until(10*time.Second + 50*time.Millisecond)
		s.network.cut()
		s.until(30 * time.Second)
		s.network.mend()
		s.until(45 * time.Second)
		require.Equal(t, []string{"delivered a"}, s.heard())
	}, "100/minute")
}
