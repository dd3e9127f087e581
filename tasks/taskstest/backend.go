package taskstest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/backend"
)

// Open opens the backend in a store.
func Open(t testing.TB, client redis.UniversalClient, o backend.Options) *backend.Backend {
	t.Helper()
	b, err := backend.Open(client, o)
	require.NoError(t, err)
	return b
}
