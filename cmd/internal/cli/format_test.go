package cli_test

import (
	"strings"
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

// What callers wrote neither begins an escape sequence nor turns the direction of a line.
func TestWhatIsPrintedIsVisible(t *testing.T) {
	t.Parallel()
	require.Equal(t, "\x1b[31mred\x1b[0m äé…\n", cli.Visible("\x1b[31mred\x1b[0m äé…\n"))
	require.Equal(t, `a\u009b31m\u202egnp.exe\u2066\u007f`, cli.Visible("a\u009b31m\u202egnp.exe\u2066\x7f"))
	var out strings.Builder
	require.NoError(t, cli.Program{Stdout: &out}.PrintJSON(map[string]string{"title": "\u009b\u202e"}))
	require.Contains(t, out.String(), `"\u009b\u202e"`)
}
