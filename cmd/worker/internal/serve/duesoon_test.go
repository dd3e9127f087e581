package serve

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestWhatIsDueWithinFiveMinutes(t *testing.T) {
	t.Parallel()
	minutes := make([]int, 60)
	minutes[0], minutes[1], minutes[4], minutes[5], minutes[6], minutes[59] = 30, 60, 10, 600, 6000, 7
	at := time.Date(2026, 11, 22, 11, 11, 30, 0, time.UTC)
	f := forecast.Forecast{At: at, Minutes: minutes}
	for _, row := range []struct {
		after time.Duration
		want  float64
		ok    bool
	}{
		{0, 30 + 60 + 10 + 300, true},                // half of the sixth minute
		{15 * time.Second, 15 + 60 + 10 + 450, true}, // half of what was left of the first
		{30 * time.Second, 60 + 10 + 600, true},
		{60 * time.Second, 30 + 10 + 600 + 3000, true},
		{54*time.Minute + 30*time.Second, 7, true},
		{54*time.Minute + 31*time.Second, 0, false}, // it says nothing about what is after its hour
		{-time.Second, 0, false},
	} {
		due, ok := dueWithin(f, at.Add(row.after), 5*time.Minute)
		require.Equal(t, row.ok, ok, row.after)
		require.InDelta(t, row.want, due, 1e-9, row.after)
	}
}

// commands counts what a client asks.
type commands struct{ asked atomic.Int64 }

func (c *commands) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() != "hello" && cmd.Name() != "client" {
		c.asked.Add(1)
	}
	return next(ctx, cmd)
}

func TestTheMetricsOfTheForecastAreCountedWhenScraped(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	now := time.Date(2026, 11, 22, 11, 11, 30, 0, time.UTC)
	server.SetTime(now)
	other, err := forecast.New(client, sendlimit.Options{})
	require.NoError(t, err)
	_, counted, err := other.Latest(t.Context())
	require.NoError(t, err)
	require.False(t, counted)

	check := func(collector *storeCollector, age string) {
		for name, want := range map[string]string{
			"sendlimit_due_messages": `{within="5m"} 0`, "sendlimit_overdue_messages": " 0", "sendlimit_forecast_age_seconds": " " + age,
		} {
			want = fmt.Sprintf("# TYPE %s gauge\n%s%s\n", name, name, want)
			require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(helpOf(name)+want), name))
		}
	}
	collector := newCollector()
	require.NoError(t, collector.addForecast(client, ""))
	check(collector, "0")
	collector.close()
	_, counted, err = other.Latest(t.Context())
	require.NoError(t, err)
	require.True(t, counted, "others have it, too")

	asked := &commands{}
	client.AddHook(redistest.Commands(asked.onCommand))
	server.SetTime(now.Add(3 * time.Second))
	collector = newCollector()
	require.NoError(t, collector.addForecast(client, ""))
	check(collector, "3")
	collector.close()
	require.EqualValues(t, 3, asked.asked.Load(), "it is not old, and the answer is used again for a while")
}

func helpOf(name string) string {
	help := map[string]string{"sendlimit_due_messages": dueHelp, "sendlimit_overdue_messages": overdueHelp, "sendlimit_forecast_age_seconds": ageHelp}
	return "# HELP " + name + " " + help[name] + "\n"
}
