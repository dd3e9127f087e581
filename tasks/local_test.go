package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// local returns a message for a local time.
func (s *story) local(id, at, zone string) message.Message {
	m := s.message(id, 0)
	m.SendAt, m.Local = time.Time{}, &message.LocalTimes{SendAt: message.LocalTime{Local: at, Zone: zone}}
	return m
}

// A local time is read in the user's own zone, the policy's or UTC, by whatever zone the judgement
// goes by, with and without an account. A repeated submit gets the first answer, in whatever zone
// the user is by then.
func TestALocalTimeIsInTheUsersZone(t *testing.T) {
	for _, account := range []string{"", "acme"} {
		t.Run(account, func(t *testing.T) {
			tell(t, func(s *story) {
				if account != "" {
					s.charges(account, accounts.Tier{MessagesPerDay: 9}, "UTC")
				}
				m := s.local("a", "2000-01-10T09:00:00", message.ZoneUser)
				m.Account = account
				read := func(id, zone string) (string, *message.ResolvedLocal) {
					m.ID = id
					checked, err := s.Check(s.Context(), m)
					require.NoError(s, err)
					o, err := s.Submit(s.Context(), m)
					require.NoError(s, err)
					require.Equal(s, []any{message.Accepted, checked.SendAt, checked.Local}, []any{o.Outcome, o.SendAt, o.Local}, o.Detail)
					require.Equal(s, &message.ResolvedLocal{Time: m.Local.SendAt.Local, Asked: message.ZoneUser, Zone: zone}, o.Local)
					return o.SendAt.Format(time.RFC3339), o.Local
				}
				in := func(id, zone, want string) {
					at, _ := read(id, zone)
					require.Equal(s, want, at)
				}
				in("a", "UTC", "2000-01-10T09:00:00Z")
				other := s.newSubmitter(submit.Options{}) // knows nothing of the user
				s.set("alice", policy.UserSettings{TimeZone: "Asia/Tokyo"})
				in("b", "Asia/Tokyo", "2000-01-10T00:00:00Z")
				s.set("alice", policy.UserSettings{TimeZone: "America/New_York"})
				again, err := other.Submit(s.Context(), m)
				require.NoError(s, err)
				require.True(s, again.Replayed)
				require.Equal(s, []any{"2000-01-10T00:00:00Z", "Asia/Tokyo"}, []any{again.SendAt.Format(time.RFC3339), again.Local.Zone})
				in("c", "America/New_York", "2000-01-10T14:00:00Z")
				status, known, err := s.Status(s.Context(), "alice", "c")
				require.NoError(s, err)
				require.True(s, known)
				require.Equal(s, "America/New_York", status.Local.Zone)

				moved, err := other.Change(s.Context(), "alice", "c", message.Patch{
					Move: &message.Move{}, Local: &message.LocalTimes{SendAt: message.LocalTime{Local: "2000-01-11T09:00:00", Zone: message.ZoneUser}},
				})
				require.NoError(s, err)
				require.Equal(s, []any{message.Moved, "2000-01-11T14:00:00Z", "America/New_York"},
					[]any{moved.Outcome, moved.SendAt.Format(time.RFC3339), moved.Local.Zone}, moved.Detail)
				status, _, err = s.Status(s.Context(), "alice", "c")
				require.NoError(s, err)
				require.Equal(s, moved.Local, status.Local)
				m.Local.SendAt.Zone = "Asia/Tokyo"
				again, err = s.Submit(s.Context(), m)
				require.NoError(s, err)
				require.Equal(s, fault.CodeIDReused, again.Code, "other words are another request")
			})
		})
	}
}

// A time that clocks skip or show twice is valid, unless the message is strict: then the first answer
// still is that of a repeated submit, though the user has come to a zone that skips the time.
func TestALocalTimeThatClocksSkip(t *testing.T) {
	tell(t, func(s *story) {
		s.shared.Reach = 366 * 24 * time.Hour
		s.Submitter = s.newSubmitter(submit.Options{})
		for _, row := range []struct {
			id, at, want string
			clock        calendar.Clock
			says         string
		}{
			{"a", "2000-03-26T02:30:00", "2000-03-26T01:30:00Z", calendar.ClockSkipped, "the nearest times are 2000-03-26 01:59:59 and 2000-03-26 03:00:00"},
			{"b", "2000-10-29T02:30:00", "2000-10-29T00:30:00Z", calendar.ClockRepeated, "write 2000-10-29T02:30:00+02:00 or 2000-10-29T02:30:00+01:00"},
			{"c", "2000-06-01T09:00:00", "2000-06-01T07:00:00Z", "", ""},
		} {
			m := s.local(row.id, row.at, "Europe/Berlin")
			m.Local.Strict = true
			strict, err := s.Submit(s.Context(), m)
			require.NoError(s, err)
			if row.says != "" {
				require.Equal(s, []any{message.Invalid, "send_at"}, []any{strict.Outcome, strict.Field})
				require.Contains(s, strict.Detail, row.says)
				m.Local.Strict = false
				strict, err = s.Submit(s.Context(), m)
				require.NoError(s, err)
			}
			require.Equal(s, row.want, strict.SendAt.Format(time.RFC3339), strict.Detail)
			require.Equal(s, row.clock, strict.Local.Clock)
		}
		m := s.local("d", "2000-03-26T02:30:00", message.ZoneUser)
		m.Local.Strict = true
		o, err := s.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome, o.Detail)
		s.set("alice", policy.UserSettings{TimeZone: "Europe/Berlin"})
		o, err = s.Submit(s.Context(), m)
		require.NoError(s, err)
		require.Equal(s, []any{message.Accepted, true, "UTC"}, []any{o.Outcome, o.Replayed, o.Local.Zone}, o.Detail)
	})
}
