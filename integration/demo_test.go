package integration_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestDemoEndsByItself(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash in PATH")
	}
	output, err := exec.CommandContext(t.Context(), "bash", "../tools/demo.sh").CombinedOutput()
	said := string(output)
	require.NoError(t, err, said)
	require.Contains(t, said, "2,000 lines in ")
	require.Contains(t, said, "refused: ada can't get a message at ")
	require.Equal(t, 5, strings.Count(said, `"delivered_at":`), said)
	require.Contains(t, said, "\nDone in ")
}
