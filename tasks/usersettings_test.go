package tasks_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// A user is alerted of the limit, the policy and the day that are the user's own.
func TestAlertsGoByTheUsersOwnRules(t *testing.T) {
	tell(t, func(s *story) {
		var mail announcer
		s.policy(func(p *policy.Policy) {
			p.Name, p.UserTimeZone, p.AlertAt = "vip", true, []int{100}
		})
		s.set("alice", policy.UserSettings{
			Policy: "vip", Contact: "alice@example.com", TimeZone: "Asia/Tokyo", Limits: rulesOf(s, "2/calendar_day"),
		})
		// In Tokyo it is 09:00 of 1 January, and the next day begins at 15:00 in UTC.
		s.accepted(s.message("a", 14*time.Hour), s.message("b", 16*time.Hour), s.message("c", 17*time.Hour))
		o := s.submit(s.message("d", 18*time.Hour))
		require.Equal(s, "2/calendar_day", o.RefusedBy())
		require.Equal(s, s.at(15*time.Hour), o.Violations[0].From.Time)
		stop := s.work(announces(&mail))
		time.Sleep(2 * time.Second)
		stop()
		all := mail.all()
		require.Len(s, all, 1)
		require.Equal(s, notifier.Notice{
			ID: all[0].notice.ID, Kind: notifier.NoticeUserQuota, Subject: "alice", Threshold: 100, Used: 2, Limit: 2,
			Day: "2000-01-02", TimeZone: "Asia/Tokyo", Rule: "2/calendar_day", Policy: "vip",
		}, all[0].notice)
	})
}

// What counts for nobody is a message as any other: it is listed, moved, taken
// back, handed out and erased.
func TestMessagesThatDoNotCount(t *testing.T) {
	tell(t, func(s *story) {
		s.policy(func(p *policy.Policy) {
			p.Categories = map[string]policy.CategoryRules{"otp": {Exempt: true, Uncounted: true}}
		})
		code := func(id string, after time.Duration) message.Message {
			m := s.message(id, after)
			m.Category = "otp"
			return m
		}
		s.accepted(code("1", 10*time.Second), code("2", 10*time.Second), code("3", 10*time.Second), s.message("a", 11*time.Second))
		s.cancelled("2")
		s.moved("3", 12*time.Second)
		listed, _ := s.lists(sendlimit.ListRequest{User: "alice"})
		require.Len(s, listed, 4, "%v", listed)
		require.Equal(s, []string{"1", "a", "3"}, s.places())
		d, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		require.Len(s, d.Timeline, 1)
		text, err := json.Marshal(d.Uncounted)
		require.NoError(s, err)
		require.JSONEq(s, `[{"id":"1","send_at":"2000-01-01T00:00:10.000Z"},{"id":"3","send_at":"2000-01-01T00:00:12.000Z"}]`, string(text))
		s.workWhereDue(15 * time.Second)
		s.delivered("1 +10s", "a +11s", "3 +12s")
		s.eraseAlice()
		s.nothingLeft()
	})
}
