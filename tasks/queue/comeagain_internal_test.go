package queue

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An error that was wrapped on its way is still known.
func TestWrappedErrorsComeAgainWhenTheySay(t *testing.T) {
	t.Parallel()
	again := &AgainError{After: 7 * time.Second, Cause: ErrStopping}
	require.Equal(t, 7*time.Second, comeAgain(fmt.Errorf("a: %w", errors.Join(again, io.EOF))))
	require.Equal(t, errorPause, comeAgain(io.EOF))
	require.ErrorIs(t, again, ErrStopping)
	require.EqualError(t, again, "again in 7s: this worker stops")
}
