package job_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// A job runs again after three quarters of its time to the whole of it.
func TestAJobIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		last := time.Now()
		var waits []time.Duration
		stop := job.Start(t.Context(), slog.New(slog.DiscardHandler), job.Periodic{Every: time.Minute, Run: func(context.Context) error {
			waits = append(waits, time.Since(last))
			last = time.Now()
			return nil
		}})
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		require.GreaterOrEqual(t, len(waits), 59)
		for _, wait := range waits {
			require.GreaterOrEqual(t, wait, 45*time.Second)
			require.LessOrEqual(t, wait, 61*time.Second)
		}
		ran := len(waits)
		time.Sleep(time.Hour)
		require.Len(t, waits, ran, "it was stopped")
	})
}

// A run that takes long is not joined by another, and stopping ends it.
func TestAJobThatTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running, most, ended := 0, 0, false
		stop := job.Start(t.Context(), slog.New(slog.DiscardHandler), job.Periodic{Every: time.Second, Run: func(ctx context.Context) error {
			running++
			most = max(most, running)
			<-ctx.Done()
			running--
			ended = true
			return ctx.Err()
		}})
		time.Sleep(time.Minute)
		require.False(t, ended)
		stop()
		require.True(t, ended, "stop waits for what runs")
		require.Equal(t, 1, most)
	})
}

// A failure is logged, and the job runs again.
func TestAJobThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(bytes.Buffer)
		runs := 0
		stop := job.Start(t.Context(), slog.New(slog.NewTextHandler(log, nil)), job.Periodic{
			Every: time.Second, Failed: "could not look",
			Run: func(context.Context) error { runs++; return errors.New("the store is away") },
		})
		time.Sleep(10 * time.Second)
		stop()
		require.Greater(t, runs, 3)
		require.Equal(t, runs, strings.Count(log.String(), `msg="could not look" error="the store is away"`))
	})
}

// Work in the background ends with the call that stops it, not with its caller's context.
func TestWorkIsRepeatedUntilItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		stop := job.Repeat(ctx, time.Second, func(context.Context) { runs++ })
		cancel()
		time.Sleep(3500 * time.Millisecond)
		stop()
		require.Equal(t, 3, runs)
	})
}
