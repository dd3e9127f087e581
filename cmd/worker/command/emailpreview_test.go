package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/notifier"
)

func TestEmailPreview(t *testing.T) {
	t.Parallel()
	for _, kind := range notifier.NoticeKinds() {
		out := prints(t, nil, "", "email-preview", string(kind), "--account", "globex")
		require.Regexp(t, "^Subject: [^\n]*globex[^\n]*\n\n", out, kind)
	}
	out := prints(t, nil, "", "email-preview", "account_quota", "--html")
	require.Contains(t, out, "<!DOCTYPE html>")
	out = prints(t, nil, "", "email-preview", "account_quota", "--text")
	require.Contains(t, out, "The account acme has 8,000 messages")
	out = prints(t, nil, "", "email-preview", "account_quota", "--headers", "--email-from", "Alerts <a@b.example>")
	require.Contains(t, out, "From: \"Alerts\" <a@b.example>\n")

	// The name of a user is not that of an account.
	for _, user := range []string{"Alice Smith", "alice@example.com", "=?utf-8?q?alice?="} {
		out = prints(t, nil, "", "email-preview", "user_quota", "--account", user)
		require.Contains(t, out, "The user "+user+" has 10 messages")
	}

	// So is the key of an event.
	for _, key := range []string{"a/b", "Alice Smith"} {
		out = prints(t, nil, "", "email-preview", "event_limit", "--account", key)
		require.Contains(t, out, "Subject: "+key+" has used 80 % of the limit of submit (400 of 500 per day)")
	}

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "account_quota.txt.tmpl"), []byte("Dear {{.Name}}"), 0o600))
	out = prints(t, []string{"SENDLIMIT_EMAIL_TEMPLATES=" + dir}, "", "email-preview", "account_quota", "--text")
	require.Equal(t, "Dear acme", out)
}

func TestEmailPreviewOfNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"email-preview", "invoice"},
		{"email-preview"},
		{"email-preview", "account_quota", "--html", "--text"},
		{"email-preview", "account_quota", "--account", "Alice Smith"},
		{"email-preview", "user_quota", "--account", "a\nb"},
		{"email-preview", "account_quota", "--email-from", "nobody"},
		{"email-preview", "account_quota", "--email-templates", filepath.Join(t.TempDir(), "none")},
	} {
		fails(t, cli.StatusInvalid, "", nil, "", args...)
	}
}
