package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// Whoever asks a command for help gets a line to copy.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		require.Contains(t, c.Example, "  worker", c.CommandPath())
		for _, under := range c.Commands() {
			look(under)
		}
	}
	look(newCommand(cli.Program{}))
}
