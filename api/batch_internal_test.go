package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// In a goroutine of its own it would end the process.
func TestAPanicWhileALineIsJudged(t *testing.T) {
	t.Parallel()
	_, err := (&server{}).judgeLine(t.Context(), message.Message{})
	require.ErrorContains(t, err, "panic: runtime error: invalid memory address")
}
