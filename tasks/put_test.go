package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// put creates or replaces a message.
func (s *story) put(m message.Message, when submit.PutIf) message.Outcome {
	s.Helper()
	checked, err := s.CheckPut(s.Context(), m, when)
	require.NoError(s, err)
	o, err := s.Put(s.Context(), m, when)
	require.NoError(s, err)
	checked.Day = o.Day // that of the dry run is given back
	require.Equal(s, o, checked, "a dry run answers as the put does")
	return o
}

// A message is replaced as a whole: it is judged without its own place, its charge follows, and what
// goes out is the last one.
func TestAMessageIsReplaced(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.horizon(2 * time.Minute)
		s.charges("acme", accounts.Tier{MessagesPerHour: 1, MessagesPerDay: 2}, "")
		first := s.messageOf("acme", "a", 70*time.Minute)
		first.Campaign = "spring"
		require.Equal(s, message.Outcome{Outcome: message.Accepted, ID: "a", User: "alice", SendAt: message.Time{Time: first.SendAt}}, undated(s.put(first, submit.PutAlways)))
		second := first
		second.Title, second.Campaign, second.SendAt = "second", "", s.at(70*time.Minute+10*time.Second)
		replaced := undated(s.put(second, submit.PutIfReplaces))
		require.Equal(s, message.Outcome{
			Outcome: message.Replaced, ID: "a", User: "alice", SendAt: message.Time{Time: second.SendAt}, MovedFrom: message.Time{Time: first.SendAt},
		}, replaced)
		for range 20 { // it counts nothing, and is no move
			again := s.put(second, submit.PutAlways)
			require.True(s, again.Replayed)
			require.Equal(s, message.Replaced, again.Outcome)
		}
		require.Zero(s, s.queued(), "beyond the horizon")
		require.Equal(s, fault.CodeIDReused, s.submit(first).Code)

		title := "edited"
		s.edited("a", message.Patch{Edit: message.Edit{Title: &title}})
		require.False(s, s.put(second, submit.PutAlways).Replayed, "it is no longer what was put")
		require.Equal(s, "second", s.status("a").Title)

		third := second
		third.Title, third.SendAt = "third", s.at(5*time.Minute)
		s.put(third, submit.PutAlways)
		s.accepted(s.paid("next", 71*time.Minute)) // in the hour that was given back
		require.Equal(s, fault.CodeQuotaExceeded, s.put(second, submit.PutAlways).Code)
		require.Equal(s, "third", s.status("a").Title)
		require.Equal(s, "accepted; replaced; changed content; replaced; replaced", s.words())
		s.requireCharges(nil, map[string][]string{"alice": {"a"}, "user-next": {"next"}})

		other := third
		other.Account = ""
		require.Equal(s, fault.CodeIDReused, s.put(other, submit.PutAlways).Code)
		require.Equal(s, fault.CodeVersionMismatch, s.put(second, submit.PutIfNone).Code)
		none := third
		none.ID = "none"
		require.Equal(s, fault.CodeVersionMismatch, s.put(none, submit.PutIfReplaces).Code)

		s.work()
		s.until(6 * time.Minute)
		require.Equal(s, "third", s.recorder.Deliveries()[0].Notification.Title)
		s.delivered("a +5m0s")
		o := s.put(second, submit.PutAlways)
		require.Equal(s, fault.CodeTooLate, o.Code)
		require.Equal(s, "message a to alice was delivered at 2000-01-01T00:05:00.000Z: use another id for another message", o.Detail)
		require.True(s, s.put(third, submit.PutAlways).Replayed)
	})
}

// undated returns an outcome without the usage of its day.
func undated(o message.Outcome) message.Outcome {
	o.Day = nil
	return o
}

// A put replaces a message, and creates none, also if the submitter has to learn the zone of the user.
func TestAPutReadsTheZoneAnew(t *testing.T) {
	tell(t, func(s *story) {
		s.setsFor("alice", policy.UserSettings{TimeZone: "Asia/Tokyo"})
		m := s.local("a", "2000-01-02T09:00:00", message.ZoneUser)
		o, err := s.Put(s.Context(), m, submit.PutIfReplaces)
		require.NoError(s, err)
		require.Equal(s, fault.CodeVersionMismatch, o.Code)
		s.takes(m)
		s.setsFor("alice", policy.UserSettings{TimeZone: "Europe/Berlin"})
		m.Title = "another"
		o, err = s.Put(s.Context(), m, submit.PutAlways)
		require.NoError(s, err)
		require.Equal(s, message.Replaced, o.Outcome, o.Detail)
		require.Equal(s, "01-02T08:00 Europe/Berlin", s.where("a"))
	})
}
