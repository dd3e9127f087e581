package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

// A signal decides about the exit status, with --json as without.
func TestWhatASignalStoppedIsNotReported(t *testing.T) {
	t.Parallel()
	stdout := &bytes.Buffer{}
	p := cli.Program{Stdout: stdout}
	stopped := fmt.Errorf("resting: %w", context.Canceled)
	require.Equal(t, stopped, p.Report(true, stopped))
	require.Empty(t, stdout.String())
	require.ErrorIs(t, p.Report(true, errors.New("no room")), cli.StatusError(cli.StatusUnexpected))
	require.JSONEq(t, `{"outcome":"error","detail":"no room"}`, stdout.String())
}
