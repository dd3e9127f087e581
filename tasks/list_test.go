package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// lists returns a list of messages to alice, "status id" each.
func (s *story) lists(r sendlimit.ListRequest) (found []string, last keyspace.Reservation) {
	s.Helper()
	r.User = "alice"
	statuses, err := s.List(s.Context(), r)
	require.NoError(s, err)
	for _, status := range statuses {
		found = append(found, status.Status+" "+status.ID)
		last = keyspace.Reservation{ID: status.ID, At: status.SendAt.Time}
	}
	return found, last
}

func TestAListHasWhatEndedToo(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.recorder.Script(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone})
		s.accepted(s.message("failed", time.Minute), s.message("sent", 2*time.Minute), s.message("back", 10*time.Minute),
			s.message("cancelled", 20*time.Minute), s.message("ahead", 30*time.Minute))
		s.cancelled("cancelled")
		s.cancelled("back")
		s.accepted(s.message("back", 12*time.Minute))
		s.work()
		s.until(3 * time.Minute)
		want := []string{"failed failed", "delivered sent", "scheduled back", "cancelled cancelled", "scheduled ahead"}
		found, _ := s.lists(sendlimit.ListRequest{})
		require.Equal(s, want, found)

		// Any page goes on where the one before has ended.
		for limit := 1; limit <= len(want)+1; limit++ {
			var paged []string
			for r := (sendlimit.ListRequest{Limit: limit}); ; {
				page, last := s.lists(r)
				paged = append(paged, page...)
				if len(page) < limit {
					break
				}
				r.After = last
			}
			require.Equal(s, want, paged, "limit %d", limit)
		}
		found, _ = s.lists(sendlimit.ListRequest{From: s.at(2 * time.Minute), To: s.at(30 * time.Minute)})
		require.Equal(s, want[1:4], found)

		statuses, err := s.List(s.Context(), sendlimit.ListRequest{User: "alice", Limit: 1})
		require.NoError(s, err)
		failed := s.status("failed")
		require.Equal(s, message.Content{Title: "failed"}, failed.Content)
		require.Len(s, failed.History, 2)
		failed.Content, failed.History = message.Content{}, nil
		require.Equal(s, []message.Status{failed}, statuses, "as the status tells it, without content and history")
		_, err = s.List(s.Context(), sendlimit.ListRequest{User: "alice", Limit: -1})
		require.ErrorContains(s, err, `limit "-1" is not allowed`)
		s.network.cut()
		_, err = s.List(s.Context(), sendlimit.ListRequest{User: "alice"})
		s.away(err, fault.CodeUnavailable)
	})
}
