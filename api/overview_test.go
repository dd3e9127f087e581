package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
)

// The overview and the forecast are those of the dashboard.
func TestOverviewAndForecast(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails("given-up")
	r.accepted(`{"user":"bob","send_at":"` + on22("11:30:00") + `","title":"Hi"}`)
	o := into[message.Overview](t, http.StatusOK, r.get("/v1/overview"))
	require.Equal(t, []any{1, 60, 0, ""}, []any{o.DeadLetters, len(o.Minutes), len(o.Workers), o.Unread})
	var f message.Forecast
	require.Eventually(t, func() bool {
		f = into[message.Forecast](t, http.StatusOK, r.get("/v1/forecast"))
		return !f.LaterCountedAt.IsZero() // the message is due in more than a day
	}, 10*time.Second, 50*time.Millisecond, "it is counted for who looks")
	sum := 0
	for _, n := range f.Hours {
		sum += n
	}
	for _, hour := range f.Later {
		sum += hour.Count
	}
	require.Equal(t, []int{1, 0, 1}, []int{f.Pending, f.Overdue, sum})
}
