package command

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// The bare call and run differ in nothing but the name.
func TestRunIsTheBareCall(t *testing.T) {
	t.Parallel()
	root := newCommand(cli.Program{})
	run, _, err := root.Find([]string{"run"})
	require.NoError(t, err)
	flags := 0
	root.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		flags++
		other := run.Flags().Lookup(f.Name)
		require.NotNil(t, other, f.Name)
		require.Equal(t, f.DefValue, other.DefValue)
		require.Equal(t, f.Usage, other.Usage)
	})
	require.Greater(t, flags, 10)
	require.NotNil(t, run.Flags().Lookup("drop-due-before"))

	r := start(t, nil, "run", "--drop-due-before", "-2h").started(t)
	before, err := time.Parse(time.RFC3339, r.attribute(t, "due before this time are dropped", "drop_due_before"))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-2*time.Hour), before, time.Minute)
	require.NoError(t, r.end(t))

	r = start(t, nil).started(t)
	r.notLogged(t, "are dropped")
	require.NoError(t, r.end(t))
}

func TestDropDueBeforeTheFuture(t *testing.T) {
	t.Parallel()
	for _, call := range [][]string{{}, {"run"}} {
		status, said := refuses(t, nil, append(call, "--drop-due-before", "+1h")...)
		require.Equal(t, cli.StatusInvalid, status)
		require.Contains(t, said, `error: drop-due-before "+1h" is not allowed: use a time in the past`)
	}
}
