package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// evicting is what INFO says of a store that evicts keys.
const evicting = "used_memory:1000\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\nevicted_keys:0\r\n"

// While the store may delete messages, nothing that it would have to keep is accepted, in any process.
// What it has is delivered, and can be cancelled. If it does not tell, messages are accepted.
func TestAStoreThatEvictsAcceptsNothing(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		f.says("used_memory:1000\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n")
		s.work()
		other := s.newSubmitter(submit.Options{Batch: true})
		s.accepted(s.message("a", 10*time.Second), s.message("b", time.Hour))
		f.says(evicting)
		s.until(2 * time.Second)
		for _, submitter := range []*submit.Submitter{s.Submitter, other} {
			_, err := submitter.Submit(s.Context(), s.message("c", 2*time.Hour))
			s.away(err, fault.CodeStoreUnfit)
			require.EqualError(s, err, "Redis at "+s.client.Options().Addr+" has the maxmemory-policy allkeys-lru,"+
				" which deletes scheduled messages when memory is full: set it to noeviction")
			require.NotContains(s, message.OutcomeOf(err).Detail, "submitting")
		}
		_, err := s.Move(s.Context(), "alice", "b", s.at(3*time.Hour))
		s.away(err, fault.CodeStoreUnfit)
		s.away(s.StoreFull(s.Context(), 1), fault.CodeStoreUnfit)
		require.True(s, s.submit(s.message("b", time.Hour)).Replayed)
		s.cancelled("b")
		s.until(20 * time.Second)
		s.delivered("a +10s")

		f.says("-LOADING Redis is loading the dataset in memory")
		s.until(22 * time.Second)
		_, err = s.Submit(s.Context(), s.message("c", 2*time.Hour))
		s.away(err, fault.CodeStoreUnfit)
		f.says("-NOPERM this user has no permissions to run the 'info' command")
		s.until(24 * time.Second)
		s.accepted(s.message("c", 2*time.Hour))
	})
}
