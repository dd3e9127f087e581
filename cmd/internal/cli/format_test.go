package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func TestThousands(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int{
		"0": 0, "999": 999, "1,000": 1000, "81,959": 81959, "100,000": 100_000, "1,234,567": 1_234_567,
	} {
		require.Equal(t, want, cli.Thousands(n))
	}
}
