package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Asking often costs the store no more than asking once a second.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		s := newShared(2*time.Second, time.Second, func(ctx context.Context) int32 {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
			}
			return looks.Add(1)
		})
		ask := func() []int32 {
			var all sync.WaitGroup
			answers := make([]int32, 10)
			for i := range answers {
				all.Go(func() { answers[i] = s.get(t.Context()) })
			}
			all.Wait()
			return answers
		}
		require.Equal(t, []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, ask(), "those who come together")
		time.Sleep(time.Second - time.Nanosecond)
		require.Equal(t, int32(1), s.get(t.Context()))
		time.Sleep(time.Nanosecond)

		gone, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		require.Equal(t, int32(2), s.get(gone), "a look goes on without the one who asked first")
		require.Equal(t, int32(2), s.get(t.Context()))

		began := time.Now()
		s.within = 100 * time.Millisecond
		time.Sleep(time.Second)
		s.get(t.Context())
		require.Equal(t, 1100*time.Millisecond, time.Since(began), "it is bounded")
	})
}
