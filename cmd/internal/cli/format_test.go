package cli_test

import (
	"os"
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

func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestNoColourWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	null, err := os.Open(os.DevNull) // a character device, and no terminal
	require.NoError(t, err)
	defer null.Close()

	require.False(t, cli.IsTerminal(&strings.Builder{}))
	require.False(t, cli.IsTerminal(file))
	require.False(t, cli.IsTerminal(null))
	require.Equal(t, "text", cli.NewPalette(file, environment(nil)).Red("text"))
	require.Equal(t, "text", cli.Palette{}.Bold("text"))
}

func TestColourOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to open: " + err.Error())
	}
	defer terminal.Close()
	require.True(t, cli.IsTerminal(terminal))

	palette := cli.NewPalette(terminal, environment(map[string]string{"TERM": "xterm"}))
	require.Equal(t, "\x1b[31mtext\x1b[0m", palette.Red("text"))
	require.Empty(t, palette.Red(""))
	colours := map[string]bool{}
	for _, paint := range []func(string) string{palette.Bold, palette.Dim, palette.Red, palette.Green, palette.Yellow} {
		colours[paint("text")] = true
	}
	require.Len(t, colours, 5)

	require.Equal(t, "text", cli.NewPalette(terminal, environment(map[string]string{"NO_COLOR": "1"})).Red("text"))
	require.Equal(t, "text", cli.NewPalette(terminal, environment(map[string]string{"TERM": "dumb"})).Red("text"))
	require.NotEqual(t, "text", cli.NewPalette(terminal, environment(map[string]string{"NO_COLOR": ""})).Red("text"), "set to nothing is not set")
}
