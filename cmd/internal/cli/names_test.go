package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func TestNamesOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ called, own, worker, enqueue string }{
		{"sendlimit-worker", "worker", "sendlimit-worker", "sendlimit"},
		{"sendlimit", "enqueue", "sendlimit-worker", "sendlimit"},
		{"/usr/bin/sendlimit-worker", "worker", "sendlimit-worker", "sendlimit"},
		{"sendlimit.exe", "enqueue", "sendlimit-worker", "sendlimit"},
		{"worker", "worker", "worker", "enqueue"},
		{"/opt/enqueue", "enqueue", "worker", "enqueue"},
		{"bin/worker", "worker", "bin/worker", "bin/enqueue"},
		{"./sendlimit", "enqueue", "./sendlimit-worker", "./sendlimit"},
		{"sl", "enqueue", "worker", "sl"}, // a link
		{"/tmp/go-build7/b001/exe/worker", "worker", "go run ./cmd/worker", "go run ./cmd/enqueue"},
		{"/tmp/go-build7/b001/exe/sendlimit", "enqueue", "go run ./cmd/sendlimit-worker", "go run ./cmd/sendlimit"},
		{"/tmp/go-build7/b001/command.test", "worker", "worker", "enqueue"},
	} {
		names := cli.NamesOf(row.called, row.own)
		require.Equal(t, row.worker, names.Of("worker"), row.called)
		require.Equal(t, row.enqueue, names.Of("enqueue"), row.called)
	}
}

func TestSpell(t *testing.T) {
	t.Parallel()
	installed := cli.NamesOf("sendlimit", "enqueue")
	for text, want := range map[string]string{
		"see worker channel list":                      "see sendlimit-worker channel list",
		"(enqueue push --user alice) | enqueue bulk -": "(sendlimit push --user alice) | sendlimit bulk -",
		"worker --redis-url X":                         "sendlimit-worker --redis-url X",
		"  worker\n  worker check":                     "  sendlimit-worker\n  sendlimit-worker check",
		"a worker that runs\nstart a worker":           "a worker that runs\nstart a worker",
		"myworker check and ./cmd/worker check":        "myworker check and ./cmd/worker check",
	} {
		require.Equal(t, want, installed.Spell(text))
		require.Equal(t, text, cli.Names{}.Spell(text))
	}
}

// The names are in the help of a command, and in what its errors say.
func TestHelpCallsTheProgramsByTheirNames(t *testing.T) {
	t.Parallel()
	made := func() *cobra.Command {
		root := &cobra.Command{Use: "worker", Short: "Deliver."}
		check := &cobra.Command{
			Use: "check", Short: "Look.", Long: "See worker stats.", Example: "  worker check --deep",
			RunE: func(*cobra.Command, []string) error { return nil },
		}
		check.Flags().Bool("deep", false, "as enqueue status does")
		root.AddCommand(check)
		return root
	}
	root := made()
	var out strings.Builder
	root.SetOut(&out)
	names := cli.NamesOf("sendlimit-worker", "worker")
	require.NoError(t, cli.Execute(t.Context(), names, root, []string{"check", "--help"}))
	for _, want := range []string{
		"See sendlimit-worker stats.", "  sendlimit-worker check [flags]\n", "  sendlimit-worker check --deep\n", "as sendlimit status does",
	} {
		require.Contains(t, out.String(), want)
	}
	require.ErrorContains(t, cli.Execute(t.Context(), names, made(), []string{"check", "more"}), "see sendlimit-worker check --help")
}

// Who calls a program by a command of the other one, or by another word, hears which it is.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	installed := cli.NamesOf("/usr/bin/sendlimit", "enqueue")
	for _, row := range []struct{ own, unknown, want string }{
		{"enqueue", "policy", "sendlimit-worker policy"},
		{"enqueue", "account", "sendlimit-worker account"},
		{"enqueue", "send", "sendlimit push"},
		{"enqueue", "start", "sendlimit-worker run"},
		{"enqueue", "dance", ""},
		{"worker", "bulk", "sendlimit bulk"},
		{"worker", "send", "sendlimit push"},
		{"worker", "policy", ""},
	} {
		require.Equal(t, row.want, installed.Elsewhere(row.own, row.unknown), row.unknown)
	}
}
