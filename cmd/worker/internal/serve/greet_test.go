package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
)

// At its usual address programs find the embedded store without a URL.
func TestTryNextAtTheUsualAddress(t *testing.T) {
	t.Parallel()
	names := cli.NamesOf("/tmp/go-build1/b001/exe/worker", "worker")
	require.Equal(t, [2]string{
		`go run ./cmd/enqueue push --user alice --at +10s --title "Hello"`,
		`go run ./cmd/enqueue push --user alice --at +30s --title "Too soon"`,
	}, tryNext(names, store.EmbeddedAddress))
}
