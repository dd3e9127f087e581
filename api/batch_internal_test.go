package api

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
)

// In a goroutine of its own it would end the process.
func TestAPanicWhileALineIsJudged(t *testing.T) {
	t.Parallel()
	judge := recovering(func(context.Context, message.Message) (message.Outcome, error) { panic("nobody home") })
	_, err := judge(t.Context(), message.Message{})
	require.ErrorContains(t, err, "panic: nobody home")
}
