package serve

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A line a minute says what was done in it; a minute without anything has none.
func TestTheSummaryOfAMinute(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	counted := activity.New(client, keyspace.KeysUnder(""), nil)
	now := time.Now()
	counted.Accepted("", now)
	counted.Refused("", now, "1/minute")
	counted.Refused("", now, "5/hour")
	counted.Delivered("", now, 3*time.Second, true)
	counted.Delivered("", now, 0, false)
	counted.Dropped("", now, "expired")
	require.NoError(t, counted.Flush(t.Context()))

	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	want := `level=INFO msg="in the last minute" accepted=1 refused=2 delivered=2 late=1 late_p99=`
	synctest.Test(t, func(t *testing.T) {
		stop := summarize(t.Context(), counted, logger)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Empty(t, log.String())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		stop()
	})
	require.True(t, strings.HasPrefix(log.String(), want), log.String())
	require.True(t, strings.HasSuffix(log.String(), " dropped=1\n"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "\n"))

	log.Reset()
	counted.Cancelled("", now)
	require.NoError(t, counted.Flush(t.Context()))
	summarize(t.Context(), counted, logger)()
	require.Equal(t, "level=INFO msg=\"in the last minute\" cancelled=1\n", log.String(), "the rest is logged at the end")
}
