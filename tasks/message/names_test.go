package message_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

func TestThereAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, "there are none", message.ThereAre("vip", nil))
	require.Equal(t, "there are default, vips", message.ThereAre("vip", []string{"vips", "default"}))
	many := []string{"vips", "default", "vi"}
	for i := range 3000 {
		many = append(many, fmt.Sprintf("tenant-%04d", i))
	}
	require.Equal(t, "the nearest of 3003 are vi, vips, default", message.ThereAre("vip", many))
}
