package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
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

// tool runs a command with the worker's settings, and returns what it prints.
func tool(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	root := &cobra.Command{Use: "tool", Long: "First sentence.\nSecond one. " + strings.Repeat("word ", 20) + "\n\n  kept: as it is", RunE: func(*cobra.Command, []string) error { return nil }}
	root.SetOut(&out)
	root.SetErr(&out)
	config.RegisterFlags(root.Flags(), config.Worker)
	root.Flags().AddFlagSet(cli.StoreFlags())
	load := &cobra.Command{Use: "load FILE", Short: "Load.", Run: func(*cobra.Command, []string) {}}
	load.Flags().String("folder", "", "`folder` to load from")
	load.Flags().String("name", "", "a `name`")
	load.Flags().String("then", "", "what to do `next`")
	cli.Words(load.Flags(), "then", "keep", "cancel")
	root.AddCommand(load)
	require.NoError(t, cli.Execute(t.Context(), cli.Names{}, root, args), args)
	return out.String()
}

func TestFlagsAreInGroups(t *testing.T) {
	t.Parallel()
	help := "\n" + tool(t, "--help")
	last := 0
	titles := slices.DeleteFunc(config.Groups(), func(title string) bool { return title == config.GroupCommands }) // which a worker has not
	for _, title := range append([]string{"Usage", "Available Commands", "Flags"}, titles...) {
		at := strings.Index(help, "\n"+title+":\n")
		require.GreaterOrEqual(t, at, last, "%s in %s", title, help)
		last = at + 1
	}
	store := help[strings.Index(help, "\nStore:"):strings.Index(help, "\nDeliveries:")]
	require.Contains(t, store, "--redis-url url")
	require.NotContains(t, store, "--listen")
	require.Contains(t, help, "  completion ")
	require.NotContains(t, help, "  man ", "it is for packages")
	require.Contains(t, help, "First sentence. Second one. word")
	require.Contains(t, help, "\n\n  kept: as it is\n")
	for line := range strings.Lines(help) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, line)
	}
}

// A shell asks the program with the hidden command __complete. The last line but one says
// whether the shell adds files (0) or not (4), or folders (16).
func TestCompletion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--log-format ": "auto\ntext\njson\n:4\n", "--on-uncertain ": "resend\nskip\n:4\n",
		"--config ": ":0\n", "--email-templates ": ":16\n", "--deliveries ": ":4\n",
		"load --then ": "keep\ncancel\n:4\n", "load --folder ": ":16\n", "load --name ": ":4\n",
		"load ": ":0\n", "l": "load\tLoad.\n:4\n",
	} {
		got := tool(t, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		require.Equal(t, want, strings.Join(strings.SplitAfter(got, "\n")[:strings.Count(want, "\n")], ""), args)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Equal(t, "tool version "+cli.Version()+"\n", tool(t, "--version"))
}

func TestManualPages(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new")
	require.Empty(t, tool(t, "man", folder))
	page, err := os.ReadFile(filepath.Join(folder, "tool-load.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "what to do")
	page, err = os.ReadFile(filepath.Join(folder, "tool.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "redis-url")
}
