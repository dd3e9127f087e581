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
		require.Contains(t, c.Example, "  sendlimit-worker ", c.CommandPath())
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
		"polcy":                  `unknown command "polcy" for "sendlimit-worker" (did you mean policy?); see sendlimit-worker --help`,
		"usr set a --limit 1/h":  `unknown command "usr" for "sendlimit-worker" (did you mean user?); see sendlimit-worker --help`,
		"--push-ulr log:":        "unknown flag: --push-ulr (did you mean --push-url?); see sendlimit-worker --help",
		"run now":                `unexpected argument "now": run has only flags; see sendlimit-worker run --help`,
		"policy":                 `missing command after "sendlimit-worker policy": one of apply, delete, list, rollback, show, versions; see sendlimit-worker policy --help`,
		"policy apply":           "FILE is missing; see sendlimit-worker policy apply --help",
		"policy show a b":        `unexpected argument "b": give one NAME; see sendlimit-worker policy show --help`,
		"policy list it":         `unexpected argument "it": list has only flags; see sendlimit-worker policy list --help`,
		"serve":                  `unknown command "serve" for "sendlimit-worker": the command is sendlimit-worker run`,
		"--push":                 "unknown flag: --push; see sendlimit-worker --help",
		"policy show --push-url": "unknown flag: --push-url; see sendlimit-worker policy show --help",
	} {
		_, err := command(t, nil, "", strings.Fields(args)...)
		require.EqualError(t, err, want)
		require.Equal(t, cli.StatusInvalid, cli.ExitCode(err), args)
	}
}

// The other program says where each command is.
func TestTheOtherProgramKnowsTheCommands(t *testing.T) {
	t.Parallel()
	for _, c := range newCommand(cli.Program{}).Commands() {
		root := &cobra.Command{Use: cli.Submitter}
		root.AddCommand(&cobra.Command{Use: "push", RunE: func(*cobra.Command, []string) error { return nil }})
		require.ErrorContains(t, cli.Execute(t.Context(), cli.Names{}, root, []string{c.Name()}), "the command is sendlimit-worker "+c.Name())
	}
}
