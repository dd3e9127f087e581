package tasks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// What an export tells of alerts can be read by whoever it is about.
func TestAnExportTellsOfAlerts(t *testing.T) {
	tell(t, func(s *story) {
		p := policy.Default()
		p.Rules = []policy.Rule{{Limit: 10, Period: calendar.Day}}
		p.AlertTo = "ops@example.org"
		policies, err := settings.NewPolicies(s.client, "")
		require.NoError(s, err)
		require.NoError(s, policies.Apply(s.Context(), p))
		settings, err := settings.NewUsers(s.client, "")
		require.NoError(s, err)
		require.NoError(s, settings.Set(s.Context(), "alice", policy.UserSettings{Contact: "ada@example.org"}))

		day := s.at(48 * time.Hour).Truncate(24 * time.Hour)
		for n := range 8 {
			m := s.message(fmt.Sprint("m", n), 0)
			m.User, m.SendAt = "alice", day.Add(time.Duration(n)*time.Hour)
			s.accepted(m)
		}
		document, err := s.users().Export(s.Context(), "alice", nil)
		require.NoError(s, err)
		require.Equal(s, []userdata.AlertedDay{{Since: message.Time{Time: day}, Threshold: 80}}, document.Alerted)
		require.Len(s, document.Alerts, 1)
		require.False(s, document.Alerts[0].LookAt.IsZero())
		document.Alerts[0].LookAt = message.Time{}
		require.Equal(s, []userdata.Alert{{
			Alert: notices.FormatID(notices.UserQuota, day, 80, "alice"), Since: message.Time{Time: day},
			Threshold: 80, Used: 8, Limit: 10, Status: "waiting",
		}}, document.Alerts)
		require.Len(s, document.Gathered, 1)
		document.Gathered[0].GatheredAt = message.Time{}
		require.Equal(s, []userdata.GatheredAlert{{
			Policy: "default", Since: message.Time{Time: day}, Threshold: 80, Used: 8, Limit: 10,
		}}, document.Gathered)
	})
}
