package tasks_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// following returns a message for a local time that it keeps.
func (s *story) following(id, at string) message.Message {
	m := s.local(id, at, message.ZoneUser)
	m.Local.FollowZone = true
	return m
}

// takes submits a message for a local time.
func (s *story) takes(m message.Message) {
	s.Helper()
	o, err := s.Submit(s.Context(), m)
	require.NoError(s, err)
	require.Equal(s, message.Accepted, o.Outcome, o.Detail)
}

// where is the time and the zone of a pending message of alice, or its status.
func (s *story) where(id string) string {
	s.Helper()
	status := s.status(id)
	if status.Status != "scheduled" && status.Status != "moved" {
		return status.Status + " " + status.Reason
	}
	zone := "-"
	if status.Local != nil {
		zone = status.Local.Zone
	}
	return status.SendAt.Format("01-02T15:04") + " " + zone
}

// A message that keeps its local time moves to it in the user's new zone, also where clocks change
// there; where the time is not free or has passed, then decides. The zero of the story is midnight UTC.
func TestMessagesFollowTheZone(t *testing.T) {
	for _, row := range []struct {
		from, local, expires, taken, quiet string
		to                                 policy.UserSettings
		want                               string
		counts                             [4]int // affected, moved, kept, dropped
	}{
		{from: "Europe/Berlin", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "America/New_York"}, want: "01-10T14:00 America/New_York", counts: [4]int{1, 1, 0, 0}},
		{from: "Europe/Berlin", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo"}, want: "01-10T00:00 Asia/Tokyo", counts: [4]int{1, 1, 0, 0}},
		{from: "", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo"}, want: "01-10T00:00 Asia/Tokyo", counts: [4]int{1, 1, 0, 0}},
		{from: "Asia/Tokyo", local: "01-10T09:00", want: "01-10T09:00 UTC", counts: [4]int{1, 1, 0, 0}},
		{from: "Europe/Berlin", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "Europe/Paris"}, want: "01-10T08:00 Europe/Paris", counts: [4]int{1, 1, 0, 0}},
		// Skipped, and shown twice.
		{from: "UTC", local: "03-26T02:30", to: policy.UserSettings{TimeZone: "Europe/Berlin"}, want: "03-26T01:30 Europe/Berlin", counts: [4]int{1, 1, 0, 0}},
		{from: "UTC", local: "10-29T02:30", to: policy.UserSettings{TimeZone: "Europe/Berlin"}, want: "10-29T00:30 Europe/Berlin", counts: [4]int{1, 1, 0, 0}},
		{from: "UTC", local: "04-02T02:30", to: policy.UserSettings{TimeZone: "America/New_York"}, want: "04-02T07:30 America/New_York", counts: [4]int{1, 1, 0, 0}},
		// Passed: it is 00:00 in UTC.
		{from: "UTC", local: "01-01T03:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo"}, want: "01-01T03:00 Asia/Tokyo", counts: [4]int{1, 0, 1, 0}},
		{from: "UTC", local: "01-01T03:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenKeep}, want: "01-01T03:00 Asia/Tokyo", counts: [4]int{1, 0, 1, 0}},
		{from: "UTC", local: "01-01T03:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenShift}, want: "01-01T00:00 Asia/Tokyo", counts: [4]int{1, 1, 0, 0}},
		{from: "UTC", local: "01-01T03:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenDrop}, want: "dropped settings_changed", counts: [4]int{1, 0, 0, 1}},
		// Taken, by 1/minute.
		{from: "UTC", local: "01-10T09:00", taken: "01-10T00:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo"}, want: "01-10T09:00 Asia/Tokyo", counts: [4]int{1, 0, 1, 0}},
		{from: "UTC", local: "01-10T09:00", taken: "01-10T00:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenShift}, want: "01-10T00:01 Asia/Tokyo", counts: [4]int{1, 1, 0, 0}},
		{from: "UTC", local: "01-10T09:00", taken: "01-10T00:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Then: policy.ThenDrop}, want: "dropped settings_changed", counts: [4]int{1, 0, 0, 1}},
		// In the user's own quiet hours.
		{from: "UTC", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", QuietHours: stories.QuietHours(t, "08:00-10:00"), Then: policy.ThenShift}, want: "01-10T01:00 Asia/Tokyo", counts: [4]int{1, 1, 0, 0}},
		// After an expiry that is an instant; a local one moves along.
		{from: "UTC", local: "01-10T09:00", expires: "01-10T13:00Z", to: policy.UserSettings{TimeZone: "America/New_York", Then: policy.ThenShift}, want: "dropped no_free_time", counts: [4]int{1, 0, 0, 1}},
		{from: "UTC", local: "01-10T09:00", expires: "01-10T13:00", to: policy.UserSettings{TimeZone: "America/New_York", Then: policy.ThenShift}, want: "01-10T14:00 America/New_York until 01-10T18:00", counts: [4]int{1, 1, 0, 0}},
		{from: "UTC", local: "01-10T09:00", to: policy.UserSettings{TimeZone: "Asia/Tokyo", Blocked: true, Then: policy.ThenShift}, want: "dropped blocked", counts: [4]int{2, 0, 0, 2}},
	} {
		t.Run(fmt.Sprintf("%s %s %s %s", row.from, row.local, row.to.TimeZone, row.to.Then), func(t *testing.T) {
			tell(t, func(s *story) {
				s.shared.Reach = 366 * 24 * time.Hour
				s.Submitter = s.newSubmitter(submit.Options{})
				s.follows(policy.UserSettings{TimeZone: row.from})
				m := s.following("a", "2000-"+row.local+":00")
				at, err := time.Parse("2006-01-02T15:04Z", "2000-"+row.expires)
				switch {
				case err == nil:
					m.ExpiresAt = at
				case row.expires != "":
					m.Local.ExpiresAt = message.LocalTime{Local: "2000-" + row.expires + ":00", Zone: message.ZoneUser}
				}
				s.takes(m)
				if row.taken != "" {
					s.takes(s.local("b", "2000-"+row.taken+":00", "UTC"))
				}
				stays := s.local("c", "2000-11-20T09:00:00", message.ZoneUser) // follows no zone
				s.takes(stays)
				before := s.where("c")
				preview, err := s.refitter().Preview(s.Context(), "alice", row.to)
				require.NoError(s, err)
				require.Equal(s, "a", preview.Messages[0].ID)
				f := s.follows(row.to)
				require.True(s, f.Complete)
				counts := [4]int{f.Affected, f.Moved, f.Kept, f.Dropped}
				require.Equal(s, row.counts, counts)
				history := s.status("a").History
				anew := slices.ContainsFunc(history, func(c message.HistoryEntry) bool { return c.Change == message.ChangeChanged })
				for _, c := range history {
					reads := c.Change == message.ChangeChanged || c.Change == message.ChangeAccepted && !anew
					require.Equal(s, reads, c.Local != nil, "%+v", c)
				}
				got := s.where("a")
				if status := s.status("a"); m.Local.ExpiresAt != (message.LocalTime{}) {
					got += " until " + status.ExpiresAt.Format("01-02T15:04")
				}
				require.Equal(s, row.want, got)
				if !row.to.Blocked {
					require.Equal(s, before, s.where("c"))
				}
				again, err := s.Submit(s.Context(), m)
				require.NoError(s, err)
				if row.counts[3] == 0 {
					require.True(s, again.Replayed, "%+v", again)
					require.Equal(s, s.status("a").SendAt, again.SendAt)
				}
				stored, err := settings.NewUsers(s.client, keyspace.KeysUnder("")).Get(s.Context(), "alice")
				require.NoError(s, err)
				require.False(s, stored.Follows())
			}, "1/minute")
		})
	}
}

// The gate sends no message at an instant of a former zone, even where nothing else follows the change,
// and reads its local time anew.
func TestTheGateReadsTheZoneAnew(t *testing.T) {
	for zone, want := range map[string]string{
		"America/New_York": "01-01T06:00 America/New_York",
		"Asia/Tokyo":       "delivered ", // its time in the new zone has passed
	} {
		t.Run(zone, func(t *testing.T) {
			tell(t, func(s *story) {
				s.until(58*time.Minute + 30*time.Second)
				s.takes(s.following("a", "2000-01-01T01:00:00"))
				s.setsFor("alice", policy.UserSettings{TimeZone: zone})
				stop := s.work(withoutRelay)
				s.until(2 * time.Hour)
				stop()
				require.Equal(s, want, s.where("a"))
				if want == "delivered " {
					s.delivered("a +1h0m0s")
				}
			})
		})
	}
}

// A full day whose zone changes keeps the charges exact, and none of its messages is in the way of
// another one. A killed change is continued by any worker.
func TestAFullDayFollowsTheZone(t *testing.T) {
	for _, to := range []string{"America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata"} {
		t.Run(to, func(t *testing.T) {
			tell(t, func(s *story) {
				s.charges("acme", accounts.Tier{MessagesPerHour: 20, MessagesPerDay: 40}, "")
				p := s.policyOf("10/calendar_day", "1/hour")
				p.UserTimeZone = true
				require.NoError(s, settings.NewPolicies(s.client, keyspace.KeysUnder("")).Apply(s.Context(), p))
				s.follows(policy.UserSettings{TimeZone: "Europe/Berlin"})
				var ids []string
				for k := range 20 {
					m := s.following(fmt.Sprint("z", k), fmt.Sprintf("2000-01-%02dT%02d:00:00", 2+k/10, 9+k%10))
					m.Account = "acme"
					s.takes(m)
					ids = append(ids, m.ID)
				}
				killed := s.setsFor("alice", policy.UserSettings{TimeZone: to})
				client := s.newClient()
				redistest.DoAfterCalls(s.T, client, lua.Move, 3, func() { _ = client.Close() })
				r, err := refit.New(taskstest.Open(s, client, s.shared), refit.Options{})
				require.NoError(s, err)
				_, err = r.Follow(s.Context(), "alice", killed)
				require.Error(s, err)
				_ = r.Close()
				stop := s.work()
				s.until(20 * time.Minute)
				stop()
				zone, err := calendar.ParseTimeZone(to)
				require.NoError(s, err)
				for k, id := range ids {
					status := s.status(id)
					require.Equal(s, fmt.Sprintf("2000-01-%02dT%02d:00 %s", 2+k/10, 9+k%10, to), status.SendAt.In(zone).Format("2006-01-02T15:04")+" "+status.Local.Zone)
				}
				s.requireCharges(nil, map[string][]string{"alice": ids})
				stored, err := settings.NewUsers(s.client, keyspace.KeysUnder("")).Get(s.Context(), "alice")
				require.NoError(s, err)
				require.False(s, stored.Follows())
			})
		})
	}
}
