package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// deadLetters opens the dead letters of the story.
func (s *story) deadLetters() *deadletters.DeadLetters {
	s.Helper()
	dead, err := deadletters.New(taskstest.Open(s, s.client, s.shared))
	require.NoError(s, err)
	s.Cleanup(dead.Close)
	return dead
}

// listed are the ids of the dead letters to alice.
func (s *story) listed(dead *deadletters.DeadLetters) []string {
	s.Helper()
	list, _, err := dead.List(s.Context(), deadletters.ListRequest{User: "alice"})
	require.NoError(s, err)
	ids := []string{}
	for _, status := range list {
		ids = append(ids, status.ID)
	}
	return ids
}

func gone() notifier.Result {
	return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone}
}

// What has used up its attempts ends in the dead letters. From
// there it is sent after all, once the provider is back.
func TestADeadLetterIsSentAfterAll(t *testing.T) {
	tellSlowly(t, func(s *story) {
		dead := s.deadLetters()
		s.always(unavailable())
		s.work(retrying(3))
		m := s.message("a", 10*time.Second)
		m.Body, m.Data = "body", map[string]string{"order": "17"}
		s.accepted(m)
		s.until(time.Minute)
		require.Len(s, s.recorder.Deliveries(), 3)
		require.Zero(s, s.queued())

		letter, ok, err := dead.Get(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.True(s, ok)
		require.Equal(s, s.status("a"), letter)
		require.Equal(s, message.StatusFailed, letter.Status)
		require.Equal(s, []any{"a", "body", m.Data}, []any{letter.Title, letter.Body, letter.Data})
		require.Equal(s, []string{"a"}, s.listed(dead))

		s.recorder.AnswerWith(nil)
		s.accepted(s.message("b", 90*time.Second))
		o, err := dead.Retry(s.Context(), "alice", "a")
		require.NoError(s, err)
		require.Equal(s, message.Retried, o.Outcome)
		require.Equal(s, s.at(150*time.Second), o.SendAt.Time, "the rules hold for it")
		require.Equal(s, m.SendAt.UTC(), o.RequestedAt.Time)
		require.Equal(s, message.StatusScheduled, s.status("a").Status)
		require.Empty(s, s.listed(dead))
		require.Equal(s, 2, s.queued(), "the queue has its timer")

		s.until(3 * time.Minute)
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 5)
		last := deliveries[4].Notification
		require.Equal(s, []any{"a", "body", m.Data, 1}, []any{last.ID, last.Body, last.Data, last.Attempt})
		s.ended("alice", "a", "d")
		require.Zero(s, s.queued())
	})
}

func TestRetriesThatAreRefused(t *testing.T) {
	tellSlowly(t, func(s *story) {
		dead := s.deadLetters()
		s.recorder.Script(gone(), gone())
		s.work()
		expires := s.message("expires", 10*time.Second)
		expires.ExpiresAt = s.at(2 * time.Minute)
		s.accepted(expires)
		s.until(20 * time.Second)
		s.accepted(s.message("b", time.Minute), s.message("c", 2*time.Minute))
		refused := func(id string, code fault.Code, detail string) {
			s.Helper()
			o, err := dead.Retry(s.Context(), "alice", id)
			require.NoError(s, err)
			require.Equal(s, message.Outcome{
				Outcome: message.Refused, Code: code, User: "alice", ID: id, Detail: detail,
			}, o)
		}
		s.until(30 * time.Second)
		refused("expires", fault.CodeSendLimit,
			"no time is free for alice before message expires expires at 2000-01-01T00:02:00.000Z")
		refused("b", fault.CodeNotFound, `no dead letter "b" of user "alice": list shows the dead letters`)
		refused("none", fault.CodeNotFound, `no dead letter "none" of user "alice": list shows the dead letters`)
		s.until(2 * time.Minute)
		refused("expires", fault.CodeExpired,
			"message expires to alice expired at 2000-01-01T00:02:00.000Z: submit it again with a later expires_at")
		require.Contains(s, s.listed(dead), "expires")

		o, err := dead.Retry(s.Context(), "", "a")
		require.NoError(s, err)
		require.Equal(s, []any{message.Invalid, "user"}, []any{o.Outcome, o.Field})
	})
}

func TestDeadLettersArePurged(t *testing.T) {
	tellSlowly(t, func(s *story) {
		dead := s.deadLetters()
		s.always(gone())
		s.work()
		for i, id := range []string{"a", "b", "c"} {
			s.accepted(s.message(id, time.Duration(i+1)*time.Minute))
		}
		s.until(4 * time.Minute)
		require.Equal(s, []string{"a", "b", "c"}, s.listed(dead))
		count, err := dead.Count(s.Context())
		require.NoError(s, err)
		require.Equal(s, 3, count)

		o, err := dead.Purge(s.Context(), "alice", "b")
		require.NoError(s, err)
		require.Equal(s, message.Outcome{Outcome: message.Purged, User: "alice", ID: "b"}, o)
		o, err = dead.Purge(s.Context(), "alice", "b")
		require.NoError(s, err)
		require.Equal(s, fault.CodeNotFound, o.Code)
		_, ok, err := s.Status(s.Context(), "alice", "b")
		require.NoError(s, err)
		require.False(s, ok, "nothing of it is known")

		now, err := dead.Now(s.Context())
		require.NoError(s, err)
		require.WithinDuration(s, s.at(4*time.Minute), now, time.Second)
		purged, more, err := dead.PurgeBefore(s.Context(), now.Add(-2*time.Minute), 10)
		require.NoError(s, err)
		require.Equal(s, []any{1, false}, []any{purged, more})
		require.Equal(s, []string{"c"}, s.listed(dead))
	})
}

// Pages go on after the last of the one before.
func TestDeadLettersAreListedInPages(t *testing.T) {
	sendlimittest.Long(t)
	tellSlowly(t, func(s *story) {
		dead := s.deadLetters()
		s.always(gone())
		s.work()
		for i, id := range []string{"a", "b", "c"} {
			s.accepted(s.message(id, time.Duration(i+1)*time.Minute))
		}
		s.until(4 * time.Minute)
		r := deadletters.ListRequest{Limit: 2}
		first, next, err := dead.List(s.Context(), r)
		require.NoError(s, err)
		require.Len(s, first, 2)
		r.After = next
		rest, next, err := dead.List(s.Context(), r)
		require.NoError(s, err)
		require.Len(s, rest, 1)
		require.Empty(s, next.User)
		last := s.status("c")
		last.Content, last.History = message.Content{}, nil // which a list does not have
		require.Equal(s, last, rest[0])
	})
}

func TestDeadLettersOfAStoreThatIsAway(t *testing.T) {
	tell(t, func(s *story) {
		dead := s.deadLetters()
		s.network.cut()
		_, err := dead.Retry(s.Context(), "alice", "a")
		s.away(err, fault.CodeUnavailable)
		_, err = dead.Count(s.Context())
		s.away(err, fault.CodeUnavailable)
		_, err = dead.Now(s.Context())
		s.away(err, fault.CodeUnavailable)
	})
}
