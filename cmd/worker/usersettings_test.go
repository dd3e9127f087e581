package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestUserSettings(t *testing.T) {
	t.Parallel()
	server, _ := sendlimittest.EmbeddedRedis(t)
	environ := []string{"REDIS_URL=redis://" + server.Addr()}
	run := func(args ...string) string {
		t.Helper()
		out, err := command(t, environ, "", append([]string{"user"}, args...)...)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, "nothing is set for alice: quota alerts go nowhere\n", run("show", "alice"))
	require.Equal(t, "alice: quota alerts go to ada@example.org\n", run("set", "alice", "--contact", "ada@example.org"))
	require.JSONEq(t, `{"user":"alice","contact":"ada@example.org"}`, run("show", "alice", "--json"))
	require.JSONEq(t, `{"user":"bob","contact":""}`, run("show", "bob", "--json"))
	require.Equal(t, "alice: quota alerts go to https://example.org/hook\n", run("set", "alice", "--contact", "https://example.org/hook"))
	require.Contains(t, run("export", "alice"), `"contact": "https://example.org/hook"`)
	require.Equal(t, "nothing is set for alice: quota alerts go nowhere\n", run("clear", "alice"))
	require.Equal(t, "nothing is set for alice: quota alerts go nowhere\n", run("clear", "alice"), "twice is harmless")

	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"set", "alice"}, "--contact is missing"},
		{[]string{"set", "alice", "--contact", "Ada <ada@example.org>"}, `contact "Ada <ada@example.org>" is not allowed: it takes one e-mail address`},
		{[]string{"set", "al\nice", "--contact", "ada@example.org"}, `is not allowed: it takes 1 to 256 bytes of UTF-8`},
		{[]string{"show", ""}, `user "" is not allowed`},
		{[]string{"clear"}, "USER is missing"},
	} {
		_, err := command(t, environ, "", append([]string{"user"}, row.args...)...)
		status, said := failure(err)
		require.Equal(t, cli.StatusInvalid, status)
		require.Contains(t, said, row.want)
	}
}

// An alert that is given up says why, so that whoever runs the worker need not
// guess which setting is in the way.
func TestAnAlertThatIsGivenUpSaysWhy(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	_, err := command(t, environ, "", "user", "set", "alice", "--contact", "https://127.0.0.1:9/alerts/s3cret")
	require.NoError(t, err)
	worker := start(t, environ, "--policy-rules", "1/calendar_day").started(t)
	submit(t, "redis://"+m.Addr(), "alice", time.Hour)
	line := worker.logged(t, "gave up a notice")
	require.Equal(t, "user_quota", line["kind"])
	require.Contains(t, line["error"], "its address is an internal one, which is not allowed")
	require.NotRegexp(t, "alice|s3cret", worker.stderr.String())
}
