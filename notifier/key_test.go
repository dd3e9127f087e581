package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// A key that changed would let a message retried across an upgrade arrive twice.
func TestIdempotencyKeyIsFrozen(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2db787b16d38824e5514db4a9208d183", notifier.IdempotencyKey("", "alice", "order-17"), "no account, as before there were any")
	require.Equal(t, "f8a0f79d13d5a636d245e23bdd67b602", notifier.IdempotencyKey("acme", "alice", "order-17"))
}

func TestIdempotencyKeyTellsMessagesApart(t *testing.T) {
	t.Parallel()
	seen := make(map[string][3]string)
	for _, m := range [][3]string{
		{"", "alice", "1"},
		{"", "bob", "1"},
		{"", "alice", "2"},
		{"", "alice1", ""},
		{"", "", "alice1"},
		{"", "alic", "e1"},
		{"acme", "alice", "1"},
		{"beta", "alice", "1"},
		{"acme", "bob", "1"},
		{"acmealice", "", "1"},
		{"a", "cmealice", "1"},
	} {
		key := notifier.IdempotencyKey(m[0], m[1], m[2])
		require.Regexp(t, "^[0-9a-f]{32}$", key)
		require.NotContains(t, seen, key, "%v", m)
		seen[key] = m
	}
}
