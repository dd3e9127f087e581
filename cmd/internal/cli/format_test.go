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

func TestOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Tisch für 2", cli.OneLine("Tisch für 2", 11))
	require.Equal(t, "Tisch für …", cli.OneLine("Tisch für zwei", 11))
	require.Equal(t, "a [31mb  c", cli.OneLine("a\x1b[31mb\r\nc", 20), "no title changes the terminal")
}
