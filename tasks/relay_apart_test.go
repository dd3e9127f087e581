package tasks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// relayApart runs a relay that delivers nothing.
func (s *story) relayApart() (stop func()) {
	s.Helper()
	relay, err := tasks.NewRelay(taskstest.Open(s, s.newClient(), s.shared), tasks.RelayOptions{})
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(s, <-ended)
	})
	s.Cleanup(stop)
	return stop
}

func withoutRelay(o *tasks.WorkerOptions) { o.WithoutRelay = true }

// A worker without a relay delivers what is near, and what a relay hands over.
func TestARelayApartFromTheWorkers(t *testing.T) {
	sendlimittest.Long(t)
	tell(t, func(s *story) {
		s.horizon(2 * time.Minute)
		s.work(withoutRelay)
		s.accepted(s.message("near", time.Minute), s.message("far", 5*time.Minute), s.message("lost", 10*time.Minute))
		s.until(4 * time.Minute)
		s.delivered("near +1m0s")
		require.Zero(s, s.queued(), "nobody hands the others over, though one is due within the horizon")

		stop := s.relayApart()
		s.until(6 * time.Minute)
		s.delivered("near +1m0s", "far +5m0s")
		s.until(9 * time.Minute)
		require.Equal(s, 1, s.loseTasks())
		s.until(11*time.Minute + 30*time.Second)
		s.ended("alice", "near", "d")
		s.ended("alice", "far", "d")
		s.ended("alice", "lost", "d")
		stop()
	})
}

func TestARelayNeedsTimes(t *testing.T) {
	tell(t, func(s *story) {
		for want, o := range map[string]tasks.RelayOptions{
			"relay_every": {Every: time.Microsecond}, "sweep_every": {SweepEvery: -1}, "places_every": {PlacesEvery: -1},
		} {
			_, err := tasks.NewRelay(taskstest.Open(s, s.client, s.shared), o)
			var invalid *fault.InvalidError
			require.ErrorAs(s, err, &invalid)
			require.Equal(s, want, invalid.Field)
		}
	})
}
