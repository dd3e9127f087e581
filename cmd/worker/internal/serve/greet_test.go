package serve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// At its usual address programs find the worker without a URL.
func TestTryNextAtTheUsualAddress(t *testing.T) {
	t.Parallel()
	names := cli.NamesOf("/tmp/go-build1/b001/exe/worker")
	require.Equal(t, [2]string{
		`go run ./cmd/enqueue push --user alice --at +10s --title "Hello"`,
		`go run ./cmd/enqueue push --user alice --at +30s --title "Too soon"`,
	}, tryNext(names, "http://127.0.0.1:8080", false))
	require.Equal(t, `SENDLIMIT_API=http://127.0.0.1:8081 SENDLIMIT_API_KEY=sk_… go run ./cmd/enqueue push --user alice --at +10s --title "Hello"`,
		tryNext(names, "http://127.0.0.1:8081", true)[0])
}
