package logs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
	"github.com/sendlimit/sendlimiter/tasks/internal/logs"
)

func limited(level slog.Level) (*logs.Limiter, *slog.Logger, *output.Buffer) {
	out, limiter := new(output.Buffer), logs.NewLimiter(time.Now)
	return limiter, slog.New(limiter.Handler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))), out
}

// accounted returns the number of lines, and of those that they stand for.
func accounted(t *testing.T, text string) (lines, stands int) {
	t.Helper()
	for line := range strings.Lines(text) {
		lines++
		stands++
		if found := regexp.MustCompile(` repeated=(\d+)`).FindStringSubmatch(line); found != nil {
			left, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			stands += left
		}
	}
	return lines, stands
}

func TestEqualLinesAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	for name, follows := range map[string]bool{"flushed": true, "not flushed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limiter, logger, out := limited(slog.LevelInfo)
				for n := range 3000 { // 150 seconds
					logger.WarnContext(t.Context(), "a delivery failed", "channel", "push", "reason", "unavailable",
						"id", fmt.Sprint("secret-", n), "attempt", n%8, "error", fmt.Errorf("status 502 from number %d", n))
					time.Sleep(50 * time.Millisecond)
					if follows {
						limiter.Flush(t.Context(), false)
					}
				}
				lines, _ := accounted(t, out.String())
				require.Equal(t, 3, lines, out)
				limiter.Flush(t.Context(), true)
				lines, stands := accounted(t, out.String())
				require.Equal(t, 4, lines, out)
				require.InDelta(t, 3000, stands, 3, "at most the line that a window ends with counts twice")
				require.NotContains(t, out.String(), "secret-", "an id is shown at debug level only")
				require.Contains(t, out.String(), `level=WARN msg="a delivery failed" channel=push reason=unavailable attempt=`)
			})
		})
	}
}

func TestOtherKindsAreLoggedAtOnce(t *testing.T) {
	t.Parallel()
	_, logger, out := limited(slog.LevelInfo)
	for range 3 {
		logger.WarnContext(t.Context(), "a delivery failed", "channel", "push", "reason", "timeout")
		logger.WarnContext(t.Context(), "a delivery failed", "channel", "fcm", "reason", "timeout")
		logger.WarnContext(t.Context(), "could not look", "error", errors.New("status 500"))
		logger.ErrorContext(t.Context(), "could not look", "error", errors.New("status 501"))
		logger.InfoContext(t.Context(), "dropped an alert", "reason", "no_contact")
	}
	lines, _ := accounted(t, out.String())
	require.Equal(t, 5, lines, out)
}

// Lines at level info without a reason each say something of their own.
func TestOtherLinesAreNotLimited(t *testing.T) {
	t.Parallel()
	_, logger, out := limited(slog.LevelInfo)
	for range 3 {
		logger.With("part", "api").InfoContext(t.Context(), "content of a message shown", "user", "alice", "id", "a")
	}
	require.Equal(t, 3, strings.Count(out.String(), "user=alice id=a"))
}

// Callers choose the targets.
func TestKindsOfALineAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter, logger, out := limited(slog.LevelInfo)
		for n := range 10_000 {
			logger.WarnContext(t.Context(), "a callback does not accept events", "account", fmt.Sprint("hostile", n), "reason", "timeout")
		}
		time.Sleep(logs.Window)
		limiter.Flush(t.Context(), false)
		lines, stands := accounted(t, out.String())
		require.Equal(t, logs.MaxKinds+2, lines)
		require.InDelta(t, 10_000, stands, 1)
		time.Sleep(logs.Window)
		limiter.Flush(t.Context(), false)
		for n := range logs.MaxKinds { // the former ones are forgotten
			logger.WarnContext(t.Context(), "a callback does not accept events", "account", fmt.Sprint("other", n), "reason", "timeout")
		}
		require.Equal(t, logs.MaxKinds, strings.Count(out.String(), "account=other"))
	})
}

func TestEachLineIsThereAtDebugLevel(t *testing.T) {
	t.Parallel()
	_, logger, out := limited(slog.LevelDebug)
	for n := range 3 {
		logger.WarnContext(t.Context(), "a delivery failed", "reason", "timeout", "id", n)
	}
	require.Equal(t, 1, strings.Count(out.String(), "level=WARN"))
	require.Equal(t, 2, strings.Count(out.String(), "level=DEBUG"))
	require.Contains(t, out.String(), "id=2")
}
