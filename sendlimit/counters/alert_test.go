package counters_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// alertingCall returns a call with a limit of 10 a day and alerts at 80 % and
// 100 %.
func alertingCall(t *testing.T) counters.Request {
	t.Helper()
	return counters.Request{
		Key: "alice", At: story.At("2050-11-22T11:11:11Z"),
		Counters: []counters.Counter{{Name: "burst", Limit: 99, Window: time.Hour}, {Name: "d", Limit: 10, Period: calendar.Day}},
		Alert:    &counters.Alert{Counter: "d", At: []int{80, 100}, Kind: "quota", Details: `{"plan":"free"}`},
	}
}

func quotaNotice(at time.Time, threshold int) string {
	day := at.Truncate(24 * time.Hour).UnixMilli()
	return "quota/" + strconv.FormatInt(day, 10) + "/" + strconv.Itoa(threshold) + "/alice"
}

func TestAnAlertIsRaisedOnce(t *testing.T) {
	t.Parallel()
	c := newCounting(t)
	call := alertingCall(t)
	for n := 1; n <= 10; n++ {
		d := c.accepted(call)
		switch n {
		case 8:
			require.Equal(t, []string{quotaNotice(call.At, 80)}, d.Notices)
		case 10:
			require.Equal(t, []string{quotaNotice(call.At, 100)}, d.Notices)
		default:
			require.Empty(t, d.Notices, n)
		}
	}
	require.Empty(t, c.refused(call).Notices)

	keys := keyspace.KeysUnder("sl")
	fields, err := c.client.HGetAll(t.Context(), keys.Notice("alice", quotaNotice(call.At, 80))).Result()
	require.NoError(t, err)
	require.Equal(t, "quota", fields["k"])
	require.Equal(t, "alice", fields["s"])
	require.Equal(t, "8", fields["u"])
	require.Equal(t, "10", fields["l"])
	require.JSONEq(t, `{"plan":"free"}`, fields["x"])

	// 10, 7, 8 and 10 again: no alert is raised twice.
	call.N = 3
	require.NoError(t, c.counters.GiveBack(t.Context(), call))
	require.Empty(t, c.accepted(call).Notices)

	// The next day has its own alerts.
	call.At, call.N = call.At.Add(24*time.Hour), 9
	require.Equal(t, []string{quotaNotice(call.At, 80)}, c.accepted(call).Notices)
}
