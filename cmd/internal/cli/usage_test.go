package cli_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

type contextKey struct{}

var errOwn = errors.New("the command's own")

// execute runs "tool", whose command "push" returns errOwn unless it is given
// an argument that it checks, and whose group "policy" has "show" and "apply".
func execute(t *testing.T, args ...string) (output string, ran bool, err error) {
	t.Helper()
	var out strings.Builder
	root := &cobra.Command{Use: "tool", Short: "What a tool does."}
	root.SetOut(&out)
	root.SetErr(&out)
	push := &cobra.Command{
		Use: "push", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ran = true
			require.Equal(t, "value", cmd.Context().Value(contextKey{}))
			return errOwn
		},
	}
	push.Flags().String("user", "", "")
	push.Flags().Int("count", 0, "")
	push.Flags().Int64("limit", 0, "")
	require.NoError(t, push.MarkFlagRequired("user"))
	policy := &cobra.Command{Use: "policy", Short: "The rules."}
	policy.AddCommand(
		&cobra.Command{Use: "show", Run: func(*cobra.Command, []string) { ran = true }},
		&cobra.Command{Use: "apply", Run: func(*cobra.Command, []string) { ran = true }},
	)
	root.AddCommand(push, policy)
	err = cli.Execute(context.WithValue(t.Context(), contextKey{}, "value"), cli.Names{}, root, args)
	return out.String(), ran, err
}

func TestCommandsReturnTheirOwnErrors(t *testing.T) {
	t.Parallel()
	output, ran, err := execute(t, "push", "--user", "alice")
	require.True(t, ran)
	require.Equal(t, errOwn, err)
	require.Empty(t, output, "printing it is up to the caller")

	_, ran, err = execute(t, "policy", "show")
	require.True(t, ran)
	require.NoError(t, err)
}

func TestBadUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"push --user a --urgent":        "unknown flag: --urgent; see tool push --help",
		"push --user a extra":           `unknown command "extra" for "tool push"; see tool push --help`,
		"push --user":                   "flag needs an argument: --user; see tool push --help",
		"pus --user a":                  `unknown command "pus" for "tool" (did you mean push?); see tool --help`,
		"publish":                       `unknown command "publish" for "tool"; see tool --help`,
		"push --usr a":                  "unknown flag: --usr (did you mean --user?); see tool push --help",
		"push -x":                       "unknown shorthand flag: 'x' in -x; see tool push --help",
		"policy":                        `missing command after "tool policy": one of apply, show; see tool policy --help`,
		"policy drop":                   `unknown command "drop" after "tool policy": one of apply, show; see tool policy --help`,
		"policy --user a":               "unknown flag: --user; see tool policy --help",
		"--verbose push --user a --x=1": "unknown flag: --verbose; see tool --help",
	} {
		output, ran, err := execute(t, strings.Fields(args)...)
		require.False(t, ran, args)
		require.Empty(t, output, args)
		require.Equal(t, &cli.UsageError{Detail: want}, err, args)
		require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
		var usage *cli.UsageError
		require.ErrorAs(t, err, &usage)
		require.Equal(t, fault.CodeInvalidField, usage.Code())
	}
}

func TestHelpIsPrintedWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--help": "What a tool does.", "-h": "What a tool does.", "help": "What a tool does.",
		"":            "What a tool does.",
		"push --help": "tool push [flags]", "help push": "tool push [flags]",
		"policy --help": "The rules.", "help policy": "The rules.",
	} {
		output, ran, err := execute(t, strings.Fields(args)...)
		require.NoError(t, err, args)
		require.False(t, ran)
		require.Contains(t, output, want, args)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]*cli.UsageError{
		"one":     {Field: "user", Detail: "USER is missing; see tool one --help"},
		"one a b": {Field: "user", Detail: `unexpected argument "b": give one USER; see tool one --help`},
		"none a":  {Detail: `unexpected argument "a": none has only flags; see tool none --help`},
	} {
		require.Equal(t, want, executeArguments(t, args), args)
	}
	require.NoError(t, executeArguments(t, "one a"))
	require.NoError(t, executeArguments(t, "none"))
}

// executeArguments runs a tool whose commands "one" and "none" check their arguments.
func executeArguments(t *testing.T, args string) error {
	t.Helper()
	root := &cobra.Command{Use: "tool"}
	ran := func(*cobra.Command, []string) error { return nil }
	root.AddCommand(
		&cobra.Command{Use: "one USER", RunE: ran},
		&cobra.Command{Use: "none", RunE: ran},
	)
	return cli.Execute(t.Context(), cli.Names{}, root, strings.Fields(args))
}

// The sentences of the flag library name neither the field nor what is allowed.
func TestFlagsThatAreMissingOrWrong(t *testing.T) {
	t.Parallel()
	_, _, err := execute(t, "push")
	require.Equal(t, &cli.UsageError{Field: "user", Detail: "--user is missing; see tool push --help"}, err)
	for _, number := range []string{"count", "limit"} {
		_, _, err = execute(t, "push", "--user", "a", "--"+number, "x")
		require.Equal(t, &fault.InvalidError{Field: number, Value: "x", Want: "a whole number"}, err)
	}

	var line strings.Builder
	require.ErrorIs(t, cli.ReportJSON(&line, cli.Names{}, &cli.UsageError{Field: "user", Detail: "--user is missing"}), cli.StatusError(cli.StatusInvalid))
	require.JSONEq(t, `{"outcome":"invalid","code":"invalid_field","field":"user","detail":"--user is missing"}`, line.String())
}
