package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
)

// What a command changes is in the audit log, whoever looks.
func TestChangesByCommandsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	require.Equal(t, "No changes match.\n", prints(t, environ, "", "audit"))
	require.Empty(t, m.Keys(), "looking leaves nothing behind")

	prints(t, environ, "rules: [3/hour]", "policy", "apply", "-", "--by", "jane")
	prints(t, environ, "", "user", "set", "alice", "--limit", "5/hour", "--contact", "a@example.com", "--by", "jane")
	_, err := command(t, environ, "", "user", "set", "alice", "--limit", "7/day", "--by", "joe")
	require.Error(t, err)
	lines := strings.Split(prints(t, environ, "", "audit"), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[0], "UTC  joe  change user settings  alice  limits 5/hour, 7/day  refused: the limit 7/day replaces no rule")
	require.Contains(t, lines[1], "UTC  jane  change user settings  alice  limits 5/hour; with contact  done")
	require.Contains(t, lines[2], "UTC  jane  apply policy  default  ")

	require.Len(t, strings.Split(prints(t, environ, "", "audit", "--lines", "2"), "\n"), 3)
	var e message.AuditEntry
	require.NoError(t, json.Unmarshal([]byte(prints(t, environ, "", "audit", "--action", "apply policy", "--json")), &e))
	require.Equal(t, []string{"jane", "apply policy", "default", "done"}, []string{e.By, e.Action, e.Object, e.Outcome})
	require.Equal(t, "No changes match.\n", prints(t, environ, "", "audit", "--user", "bob"))
	require.Equal(t, "No changes match.\n", prints(t, environ, "", "audit", "--until", "2026-11-21T00:00:00Z"))
	fails(t, cli.StatusInvalid, `from "-1h" is not allowed`, environ, "", "audit", "--from", "-1h")
	fails(t, cli.StatusInvalid, "--lines must be at least 1", environ, "", "audit", "--lines", "0")
}
