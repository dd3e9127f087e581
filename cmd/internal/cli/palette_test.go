package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

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
