package persist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/internal/persist"
)

func away() error {
	return fmt.Errorf("settling: %w", &fault.UnavailableError{Detail: "connection refused"})
}

// A store that is away is asked until it answers, and said once.
func TestSettleUntilTheStoreAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told, tries, began := 0, 0, time.Now()
		failed := func(_ context.Context, err error) {
			require.True(t, persist.Unavailable(err))
			require.Equal(t, 1, tries)
			told++
		}
		held, err := persist.Settle(t.Context(), nil, failed,
			func(ctx context.Context) (bool, error) {
				deadline, ok := ctx.Deadline()
				require.True(t, ok)
				require.Equal(t, persist.TryWithin, time.Until(deadline))
				if tries++; tries < 5 {
					return false, away()
				}
				return true, nil
			})
		require.NoError(t, err)
		require.True(t, held)
		require.Equal(t, 5, tries)
		require.Equal(t, 4*persist.Pause, time.Since(began))
		require.Equal(t, 1, told)
	})
}

// Another error is the answer: no other try would do better.
func TestSettleReturnsOtherErrors(t *testing.T) {
	t.Parallel()
	wrong, tries := errors.New("a reply that makes no sense"), 0
	_, err := persist.Settle(t.Context(), nil, nil, func(context.Context) (bool, error) {
		tries++
		return false, wrong
	})
	require.ErrorIs(t, err, wrong)
	require.Equal(t, 1, tries)
	require.False(t, persist.Unavailable(err))
	require.True(t, persist.Unavailable(away()))
}

// A worker that ends waits for the store no longer.
func TestSettleEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, began := make(chan struct{}), time.Now()
		time.AfterFunc(2200*time.Millisecond, func() { close(ended) })
		failed := func(context.Context, error) {}
		held, err := persist.Settle(t.Context(), ended, failed, func(context.Context) (bool, error) {
			return true, away()
		})
		require.False(t, held)
		require.True(t, persist.Unavailable(err))
		require.Equal(t, 2200*time.Millisecond, time.Since(began))
	})
}
