package command

import (
	"strings"
	"testing"
	"unicode/utf8"

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

// Off a terminal, help is 80 columns wide. Examples are lines to copy.
func TestHelpIs80ColumnsWide(t *testing.T) {
	t.Parallel()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		help := prints(t, nil, "", args...)
		for line := range strings.Lines(strings.Replace(help, c.Example, "", 1)) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 80, "%s: %s", c.CommandPath(), line)
		}
		for _, under := range c.Commands() {
			look(under)
		}
	}
	look(newCommand(cli.Program{}))
}

func TestUnknownCommandsAndFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"polcy":                  `unknown command "polcy" for "worker" (did you mean policy?); see worker --help`,
		"usr set a --limit 1/h":  `unknown command "usr" for "worker" (did you mean user?); see worker --help`,
		"--push-ulr log:":        "unknown flag: --push-ulr (did you mean --push-url?); see worker --help",
		"run now":                `"now" is too much: run takes flags only; see worker run --help`,
		"policy":                 `a command is missing after "worker policy": one of apply, delete, list, rollback, show, versions; see worker policy --help`,
		"policy apply":           "FILE is missing; see worker policy apply --help",
		"policy show a b":        `"b" is too much: one NAME is expected; see worker policy show --help`,
		"policy list it":         `"it" is too much: list takes flags only; see worker policy list --help`,
		"serve":                  `unknown command "serve" for "worker": the command is worker run`,
		"--push":                 "unknown flag: --push; see worker --help",
		"policy show --push-url": "unknown flag: --push-url; see worker policy show --help",
	} {
		_, err := command(t, nil, "", strings.Fields(args)...)
		require.EqualError(t, err, want)
		require.Equal(t, cli.StatusInvalid, cli.ExitCode(err), args)
	}
}

// A text may name each command; Spell must know it.
func TestSpellKnowsTheCommands(t *testing.T) {
	t.Parallel()
	names := cli.NamesOf("sendlimit-worker", "worker")
	for _, c := range newCommand(cli.Program{}).Commands() {
		require.Equal(t, "sendlimit-worker "+c.Name(), names.Spell("worker "+c.Name()))
	}
}
