package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func TestSpell(t *testing.T) {
	t.Parallel()
	for called, fromSource := range map[string]bool{
		"sendlimit-worker": false, "/usr/bin/sendlimit": false, "sendlimit.exe": false, "bin/sendlimit": false, "/opt/exe/worker": false,
		"/tmp/go-build7/b001/exe/worker": true, "/tmp/go-build7/b001/exe/sendlimit": true, "/tmp/go-build7/b001/command.test": false,
	} {
		names := cli.NamesOf(called)
		for text, want := range map[string]string{
			"see sendlimit-worker channel list":                "see go run ./cmd/worker channel list",
			"(sendlimit push --user alice) | sendlimit bulk -": "(go run ./cmd/enqueue push --user alice) | go run ./cmd/enqueue bulk -",
			"sendlimit-worker --redis-url X":                   "go run ./cmd/worker --redis-url X",
			"see sendlimit.example.yaml, or sendlimit":         "see sendlimit.example.yaml, or sendlimit",
			"mysendlimit check and ./cmd/sendlimit check":      "mysendlimit check and ./cmd/sendlimit check",
		} {
			if !fromSource {
				want = text
			}
			require.Equal(t, want, names.Spell(text), called)
		}
	}
}

// The names are in the help of a command, and in what its errors say.
func TestHelpCallsTheProgramsByTheirNames(t *testing.T) {
	t.Parallel()
	made := func() *cobra.Command {
		root := &cobra.Command{Use: cli.Worker, Short: "Deliver."}
		check := &cobra.Command{
			Use: "check", Short: "Look.", Long: "See sendlimit-worker stats.", Example: "  sendlimit-worker check --deep",
			RunE: func(*cobra.Command, []string) error { return nil },
		}
		check.Flags().Bool("deep", false, "as sendlimit status does")
		root.AddCommand(check)
		return root
	}
	root := made()
	var out strings.Builder
	root.SetOut(&out)
	names := cli.NamesOf("/tmp/go-build7/b001/exe/worker")
	require.NoError(t, cli.Execute(t.Context(), names, root, []string{"check", "--help"}))
	for _, want := range []string{
		"See go run ./cmd/worker stats.", "  go run ./cmd/worker check [flags]\n", "  go run ./cmd/worker check --deep\n", "as go run ./cmd/enqueue status does",
	} {
		require.Contains(t, out.String(), want)
	}
	require.ErrorContains(t, cli.Execute(t.Context(), names, made(), []string{"check", "more"}), "see go run ./cmd/worker check --help")
}

// A command of the other program, and another word for a command, get a hint.
func TestHintsForUnknownCommands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ program, unknown, want string }{
		{cli.Submitter, "policy", "sendlimit-worker policy"},
		{cli.Submitter, "account", "sendlimit-worker account"},
		{cli.Submitter, "send", "sendlimit push"},
		{cli.Submitter, "start", "sendlimit-worker run"},
		{cli.Worker, "bulk", "sendlimit bulk"},
		{cli.Worker, "send", "sendlimit push"},
	} {
		root := &cobra.Command{Use: row.program}
		root.AddCommand(&cobra.Command{Use: "other", RunE: func(*cobra.Command, []string) error { return nil }})
		err := cli.Execute(t.Context(), cli.Names{}, root, []string{row.unknown})
		require.EqualError(t, err, `unknown command "`+row.unknown+`" for "`+row.program+`": the command is `+row.want)
	}
	root := &cobra.Command{Use: cli.Submitter}
	root.AddCommand(&cobra.Command{Use: "other", RunE: func(*cobra.Command, []string) error { return nil }})
	require.NotContains(t, cli.Execute(t.Context(), cli.Names{}, root, []string{"dance"}).Error(), "the command is")
}
