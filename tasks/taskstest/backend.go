package taskstest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// Open opens the backend in a store.
func Open(tb testing.TB, client redis.UniversalClient, o backend.Options) *backend.Backend {
	tb.Helper()
	b, err := backend.Open(client, o)
	require.NoError(tb, err)
	return b
}
