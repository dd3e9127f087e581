package queue

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While the store is away the queue says so several times a second.
func TestTheQueueSaysAFailureOnceInAnOutage(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	now := time.Unix(0, 0)
	logger := newLogger(slog.New(slog.NewTextHandler(&said, nil)), func() time.Time { return now })
	count := func() int { return strings.Count(said.String(), "\n") }
	for range 1000 { // five minutes
		logger.Error("Failed to forward scheduled tasks: ", errors.New("INTERNAL_ERROR: INTERNAL_ERROR: dial tcp 127.0.0.1:1"))
		now = now.Add(300 * time.Millisecond)
	}
	require.Equal(t, 1, count())
	require.Contains(t, said.String(), `message="Failed to forward scheduled tasks: dial tcp 127.0.0.1:1"`)
	now = now.Add(time.Minute) // the next outage
	logger.Error("Failed to forward scheduled tasks: ", errors.New("EOF"))
	logger.Warn("Recoverer: could not list lease expired tasks: ", errors.New("EOF"))
	require.Equal(t, 3, count())
	for i := range 10 * mostWarnings {
		logger.Error(fmt.Sprintf("%d is none like the other", i))
	}
	require.LessOrEqual(t, len(logger.last), mostWarnings)
}
