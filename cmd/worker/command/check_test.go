package command

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// found is a line of the answer of sendlimit-worker check.
type found struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	Detail string `json:"detail"`
	OK     bool   `json:"ok"`
}

// looked runs a check and returns what it found, by name.
func looked(t *testing.T, environ []string, wantStatus int) map[string]found {
	t.Helper()
	out, err := command(t, environ, "", "check", "--json")
	require.Equal(t, wantStatus, cli.ExitCode(err), "%s %v", out, err)
	all := make(map[string]found)
	for line := range strings.Lines(out) {
		var c found
		require.NoError(t, json.Unmarshal([]byte(line), &c), line)
		all[c.Name] = c
	}
	require.Len(t, all, 3, out)
	return all
}

func TestCheck(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Embedded(t)
	push := notifiertest.NewReceiver(time.Now)
	t.Cleanup(push.Close)
	mails, err := notifiertest.NewMailServer(t.Context(), notifiertest.MailServerOptions{})
	require.NoError(t, err)
	t.Cleanup(mails.Close)
	environ := []string{
		"REDIS_URL=redis://" + m.Addr(), "SENDLIMIT_PUSH_URL=" + push.URL() + "/hook/s3cret",
		"SENDLIMIT_EMAIL_URL=smtp://" + mails.Address(), "SENDLIMIT_EMAIL_FROM=a@b.example",
	}
	for _, c := range looked(t, environ, cli.StatusDone) {
		require.True(t, c.OK, c)
		require.NotContains(t, c.Target+c.Detail, "s3cret")
	}
	require.Empty(t, m.Keys(), "looking leaves nothing behind")
	require.Empty(t, push.Requests())
	require.Empty(t, mails.Mails())

	out := prints(t, environ, "", "check")
	require.Regexp(t, `^ok    store redis://.*takes writes.*\(\d+ ms\)\nok    email smtp://.*\nok    push  http://.*\n$`, out)

	mails.Close()
	found := looked(t, environ, cli.StatusUnexpected)
	require.False(t, found["email"].OK)
	require.Contains(t, found["email"].Detail, "connection refused")
	push.Close()
	require.False(t, looked(t, environ, cli.StatusUnexpected)["push"].OK)
	m.Close()
	require.False(t, looked(t, environ, cli.StatusUnavailable)["store"].OK, "the store counts most")
}

func TestCheckOfWhatIsNotSetUp(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Embedded(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr(), "SENDLIMIT_PUSH_URL=log:"}
	found := looked(t, environ, cli.StatusDone)
	require.Contains(t, found["email"].Detail, "alerts to e-mail addresses wait")
	require.Contains(t, found["push"].Detail, "standard output")
	require.NotContains(t, found["store"].Detail, "time zones")
	m.HSet("sl:meta", "time_zones", "2099a")
	require.Contains(t, looked(t, environ, cli.StatusDone)["store"].Detail, "warning: a program with the time zones of 2099a uses the store")
	out := prints(t, environ, "", "check")
	require.Contains(t, out, "\nok    push  log: a line each on standard output (", "with one colon")
}

func TestCheckOfAService(t *testing.T) {
	t.Parallel()
	m, _ := redistest.Embedded(t)
	environ := []string{"REDIS_URL=redis://" + m.Addr(), "SENDLIMIT_PUSH_URL=telegram://17:hunter2@telegram?chats=@all"}
	push := looked(t, environ, cli.StatusDone)["push"]
	require.Equal(t, "telegram://…", push.Target)
	require.Equal(t, "URL of the service telegram, nothing sent and no connection made", push.Detail)

	for _, name := range []string{"check", "run"} { // a token of the wrong form, and no chats
		_, err := command(t, []string{environ[0], "SENDLIMIT_PUSH_URL=telegram://hunter2@telegram"}, "", name)
		require.ErrorContains(t, err, `push_url "telegram://…" is not allowed: use a URL as the documentation of shoutrrr has it for telegram`)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestWrongSettingsOfNoticesAreAllReported(t *testing.T) {
	t.Parallel()
	environ := []string{
		"SENDLIMIT_EMAIL_URL=smtp://robot:hunter2@mail.example.com", "SENDLIMIT_SMTP_PASSWORD=hunter2",
		"SENDLIMIT_EMAIL_TEMPLATES=/does/not/exist",
	}
	for _, name := range []string{"check", "run"} {
		_, err := command(t, environ, "", name)
		problem, ok := errors.AsType[*config.Error](err)
		require.True(t, ok, "%v", err)
		var fields []string
		for _, rejected := range problem.Rejected {
			fields = append(fields, rejected.Field)
		}
		require.Equal(t, []string{"smtp_password", "email_from", "email_templates"}, fields)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
