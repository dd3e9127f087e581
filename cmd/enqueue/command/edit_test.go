package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--title", "Hi", "--data", "k=v", "--data", "l=w",
		"--meta", "order=17", "--expires-at", on22("20:00:00"))
	require.Equal(t, "changed: a to alice, which stays at 2093-11-22 11:11:11 UTC\n",
		f.prints(t, "change", "--user", "alice", "a", "--title", "", "--body", "Ready", "--data", "k=x", "--without-data", "l",
			"--meta", "table=7", "--without-meta", "order", "--expires-at", "none"))
	require.JSONEq(t, `{"id":"a","user":"alice","status":"scheduled","send_at":"2093-11-22T11:11:11.000Z","body":"Ready",
		"data":{"k":"x"},"metadata":{"table":"7"},"history":[
			{"at":"2093-11-21T10:00:00.000Z","change":"accepted","send_at":"2093-11-22T11:11:11.000Z"},
			{"at":"2093-11-21T10:00:00.000Z","change":"changed","reason":"content, metadata, expires_at"}]}`,
		f.prints(t, "status", "--user", "alice", "a", "--json"))
	require.JSONEq(t, `{"outcome":"changed","id":"a","user":"alice","send_at":"2093-11-22T11:11:11.000Z"}`,
		f.prints(t, "change", "--user", "alice", "a", "--expires-at", on22("21:00:00"), "--json"))

	for _, row := range []struct {
		want string
		args []string
	}{
		{"at least one of the flags", nil},
		{`--data "v" is not key=value`, []string{"--data", "v"}},
		{"title or body is required", []string{"--body", ""}},
		{"is not after send_at", []string{"--expires-at", on22("11:11:11")}},
	} {
		got := f.run(t, append([]string{"change", "--user", "alice", "a"}, row.args...)...)
		require.Equal(t, 2, got.status, row.args)
		require.Contains(t, got.stderr, row.want)
	}
	require.Equal(t, 4, f.run(t, "change", "--user", "alice", "none", "--title", "Hi").status)
}
