package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func TestCommandsRefuseInternalContacts(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	const internal = "https://2130706433/s3cret" // 127.0.0.1
	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("rules: [5/hour]\nalert_to: "+internal+"\n"), 0o600))
	prints(t, environ, "", "account", "create", "acme", "--no-key")
	commands := [][]string{
		{"account", "create", "other", "--no-key", "--contact", internal},
		{"account", "set", "acme", "--contact", internal},
		{"user", "set", "alice", "--contact", internal},
		{"policy", "apply", file},
		{"event-limit", "set", "submit", "--per-day", "5", "--alert-at", "80", "--alert-to", internal},
	}
	for _, args := range commands {
		said := fails(t, cli.StatusInvalid, "allow_internal_webhooks", environ, "", args...)
		require.NotContains(t, said, "s3cret", "%s", args)
	}
	for _, args := range commands {
		_, err := command(t, append(environ, "SENDLIMIT_ALLOW_INTERNAL_WEBHOOKS=true"), "", args...)
		require.NoError(t, err, "%s", args)
	}
	said := fails(t, cli.StatusInvalid, "policy.alert_to", environ, "", "--policy-alert-to", internal, "--push-url", "log:")
	require.Contains(t, said, "allow_internal_webhooks")
}
