package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 line", message.Count(1, "line"))
	require.Equal(t, "0 lines", message.Count(0, "line"))
	require.Equal(t, "2 marketing messages", message.Count(2, "marketing message"))
}
