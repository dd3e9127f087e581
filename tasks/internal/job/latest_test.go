package job_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/internal/job"
)

// What is old is read anew, by one caller for all. If that fails, the last known value holds, and
// the next try comes when it would be old again. A look that began before another does not replace
// its value.
func TestTheLatestValueIsReadAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := job.NewLatest[string](time.Second, time.Now)
		looks, answer, failure := 0, "a", error(nil)
		get := func() string {
			return l.Get(t.Context(), func(ctx context.Context) error {
				began := time.Now()
				looks++
				if failure != nil {
					<-ctx.Done()
					return failure
				}
				time.Sleep(100 * time.Millisecond)
				l.Learn(answer, began)
				return nil
			})
		}
		together := make(chan string, 3)
		for range cap(together) {
			go func() { together <- get() }()
		}
		for range cap(together) {
			require.Equal(t, "a", <-together)
		}
		require.Equal(t, 1, looks)
		answer = "b"
		time.Sleep(800 * time.Millisecond)
		require.Equal(t, "a", get())
		time.Sleep(100 * time.Millisecond)
		require.Equal(t, "b", get(), "its look began a second ago")
		_, newer := l.Learn("older", time.Now().Add(-time.Second))
		require.False(t, newer)
		require.Equal(t, "b", get())
		require.Equal(t, 2, looks)

		failure = errors.New("away")
		time.Sleep(time.Second)
		require.Equal(t, "b", get())
		require.Equal(t, "b", get())
		require.Equal(t, 3, looks)
		before, newer := l.Learn("c", time.Now().Add(time.Millisecond))
		require.True(t, newer)
		require.Equal(t, "b", before)
		require.Equal(t, "c", get())
	})
}
