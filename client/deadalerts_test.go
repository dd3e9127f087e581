package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// What could not be delivered to a contact is listed, shown, delivered after all and removed.
func TestDeadAlertsOfTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	outbox, err := notices.New(c.store, notices.Options{})
	require.NoError(t, err)
	var ids []string
	for _, subject := range []string{"a/b", "acme", "other"} {
		id := notices.FormatID(notices.DailyReport, at("2026-11-20T00:00:00Z"), 0, subject)
		ids = append(ids, id)
		_, err := outbox.Put(t.Context(), notices.Notice{ID: id}, time.Time{})
		require.NoError(t, err)
		nonce := keyspace.NewToken()
		_, err = outbox.Claim(t.Context(), id, nonce, time.Minute, time.Time{})
		require.NoError(t, err)
		_, err = outbox.Settle(t.Context(), id, nonce, notices.Settlement{Outcome: notices.Failed, Reason: "rejected"}, time.Time{})
		require.NoError(t, err)
	}
	alerts := func() (listed []string) {
		for alert, err := range c.DeadAlerts(t.Context(), client.PageRequest{PageSize: 2}) {
			require.NoError(t, err)
			listed = append(listed, alert.Alert)
		}
		return listed
	}
	require.ElementsMatch(t, ids, alerts())
	alert, err := c.DeadAlert(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, []string{"a/b", "rejected"}, []string{alert.Subject, alert.Reason})
	require.NoError(t, c.RetryDeadAlert(t.Context(), ids[0]))
	require.ErrorIs(t, c.RetryDeadAlert(t.Context(), ids[0]), client.ErrNotFound)
	require.NoError(t, c.PurgeDeadAlert(t.Context(), ids[1]))
	require.ErrorIs(t, c.PurgeDeadAlert(t.Context(), ids[1]), client.ErrNotFound)
	require.EqualError(t, c.PurgeDeadAlert(t.Context(), ""), "purging a dead alert: alert is missing")

	purged, err := c.PurgeDeadAlerts(t.Context(), time.Hour, 0)
	require.NoError(t, err)
	require.Equal(t, client.DeadPurge{}, purged, "it ended just now")
	_, err = c.PurgeDeadAlerts(t.Context(), -time.Second, 0)
	var wrong *client.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "older_than", wrong.Field)
	purged, err = c.PurgeDeadLetters(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, client.DeadPurge{}, purged)
	require.Equal(t, ids[2:], alerts())
}
