package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

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
