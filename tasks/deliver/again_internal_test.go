package deliver

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Pitfall 29: an error that was wrapped on its way is still known.
func TestPitfall29WrappedErrorsComeAgainWhenTheySay(t *testing.T) {
	t.Parallel()
	again := &queue.AgainError{After: 7 * time.Second, Cause: errBusy}
	require.Equal(t, 7*time.Second, queue.ComeAgain(3, fmt.Errorf("a: %w", errors.Join(again, io.EOF)), nil))
	require.Equal(t, queue.ErrorPause, queue.ComeAgain(3, io.EOF, nil))
	require.ErrorIs(t, again, errBusy)
	require.EqualError(t, again, "again in 7s: another delivery goes first: of the same message, or of an older one that is late")
}
