package redistest

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Virtual is Embedded within a bubble of testing/synctest: the server has the bubble's clock and
// listens on no socket, for which the bubble would not wait.
func Virtual(tb testing.TB) (*miniredis.Miniredis, *redis.Client) {
	tb.Helper()
	masters := Apart(tb, func() time.Duration { return 0 }, 0)
	client, _ := masters.Client(nil).(*redis.Client)
	tb.Cleanup(func() { _ = client.Close() })
	return masters[0], client
}
