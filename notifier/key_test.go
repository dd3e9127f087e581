package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// A key that changed would let a message retried across an upgrade arrive twice.
func TestIdempotencyKeyIsFrozen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2db787b16d38824e5514db4a9208d183", notifier.IdempotencyKey("alice", "order-17"))
}

func TestIdempotencyKeyTellsMessagesApart(t *testing.T) {
	t.Parallel()
	seen := make(map[string][2]string)
	for _, m := range [][2]string{{"alice", "1"}, {"bob", "1"}, {"alice", "2"}, {"alice1", ""}, {"", "alice1"}, {"alic", "e1"}} {
		key := notifier.IdempotencyKey(m[0], m[1])
		require.Regexp(t, "^[0-9a-f]{32}$", key)
		require.NotContains(t, seen, key, "%v", m)
		seen[key] = m
	}
}
