package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	require.Equal(t, "cancelled: order-17 to alice\n", f.prints(t, "cancel", "--user", "alice", "order-17"))
	require.Equal(t, "cancelled: order-17 to alice was cancelled before\n", f.prints(t, "cancel", "order-17", "--user", "alice"))
	require.JSONEq(t, `{"outcome":"cancelled","id":"order-17","user":"alice","replayed":true}`,
		f.prints(t, "cancel", "--user", "alice", "order-17", "--json"))

	absent := f.run(t, "cancel", "--user", "alice", "order-18")
	require.Equal(t, 4, absent.status)
	require.Equal(t, "not found: no pending message \"order-18\" of user \"alice\"\n", absent.stdout)
	require.Equal(t, result{
		4, `{"outcome":"refused","code":"not_found","id":"order-18","user":"alice",` +
			`"detail":"no pending message \"order-18\" of user \"alice\""}` + "\n", "",
	}, f.run(t, "cancel", "--user", "alice", "order-18", "--json"))
	require.Equal(t, 2, f.run(t, "cancel", "--user", "alice", "order 18").status)
}

func TestMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	f.push(t, "order-18", "12:00:00")
	require.Equal(t, "moved: order-17 to alice, from 2093-11-22 11:11:11 UTC to 2093-11-22 11:11:12 UTC (in 1 day 1 hour)\n",
		f.prints(t, "move", "--user", "alice", "order-17", "--at", on22("11:11:12")))
	require.Equal(t, "moved: order-17 to alice is at 2093-11-22 11:11:12 UTC already\n",
		f.prints(t, "move", "--user", "alice", "order-17", "--at", on22("11:11:12")))
	require.JSONEq(t, `{"outcome":"moved","id":"order-17","user":"alice","send_at":"2093-11-22T11:11:13.000Z",`+
		`"moved_from":"2093-11-22T11:11:12.000Z","local":{"time":"2093-11-22T12:11:13","asked":"Europe/Berlin","zone":"Europe/Berlin"}}`,
		f.prints(t, "move", "--user", "alice", "order-17", "--json", "--tz", "Europe/Berlin", "--at", "2093-11-22 12:11:13"))

	taken := f.run(t, "move", "--user", "alice", "order-17", "--at", on22("11:59:30"))
	require.Equal(t, 3, taken.status)
	require.Contains(t, taken.stdout, "refused: alice can't get a message at 2093-11-22 11:59:30 UTC\n")
	require.Contains(t, taken.stdout, "\n  try  sendlimit move order-17 --user alice --at 2093-11-22T12:01:00Z\n")
	require.Contains(t, f.prints(t, "list", "--user", "alice"), "2093-11-22 11:11:13 UTC       moved      order-17", "it keeps its old place")

	require.Equal(t, "moved: order-17 to alice, from 2093-11-22 11:11:13 UTC to 2093-11-22 12:01:00 UTC (in 1 day 2 hours)\n"+
		"  the next free time after 2093-11-22 11:59:30 UTC\n",
		f.prints(t, "move", "--user", "alice", "order-17", "--at", on22("11:59:30"), "--on-conflict", "shift"))
	short := f.run(t, "move", "--user", "alice", "order-17", "--at", on22("11:59:30"), "--on-conflict", "shift", "--shift-until", on22("11:59:59"))
	require.Equal(t, 3, short.status, "its own place is free, and later")
	require.Equal(t, 2, f.run(t, "move", "--user", "alice", "order-17", "--at", "+2h", "--shift-until", "+3h").status)

	require.Equal(t, 4, f.run(t, "move", "--user", "alice", "order-19", "--at", on22("11:11:12")).status)
	past := f.run(t, "move", "--user", "alice", "order-17", "--at", "2093-11-20T00:00:00Z")
	require.Equal(t, 2, past.status)
	require.Contains(t, past.stderr, "is in the past")
	require.Contains(t, f.prints(t, "move", "--user", "alice", "order-17", "--at", "now"), "to 2093-11-21 10:00:00 UTC\n")
}

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
