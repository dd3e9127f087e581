package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

func TestList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "b", "12:00:00")
	f.push(t, "a", "11:11:11")
	f.prints(t, "move", "--user", "alice", "b", "--at", on22("12:30:00"))
	require.Equal(t, "send time                status     id\n"+
		"2026-11-22 11:11:11 UTC  scheduled  a\n2026-11-22 12:30:00 UTC  moved      b\n",
		f.prints(t, "list", "--user", "alice"))
	require.Equal(t, "send time                status     id\n2026-11-22 13:30:00 CET  moved      b\n",
		f.prints(t, "list", "--user", "alice", "--tz", "Europe/Berlin", "--from", "2026-11-22 12:30"))
	require.JSONEq(t, `{"id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z","status":"scheduled"}`,
		f.prints(t, "list", "--user", "alice", "--json", "--to", on22("12:00:00")))
	require.Equal(t, "bob has no messages there\n", f.prints(t, "list", "--user", "bob", "--from", "now"))
	require.Empty(t, f.prints(t, "list", "--user", "bob", "--json"))
	backwards := f.run(t, "list", "--user", "alice", "--from", "+1h", "--to", "now")
	require.Equal(t, result{2, "", "error: to \"2026-11-21T10:00:00Z\" is not allowed: it takes a time after from\n"}, backwards)
}

// Workers are down, for longer than any rule looks back.
func TestListOfLateMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.server.SetTime(now().Add(72 * time.Hour))
	require.Equal(t, "send time                status     id\n2026-11-22 11:11:11 UTC  scheduled  a\n",
		f.prints(t, "list", "--user", "alice"))
}

// More than one page, of places of which nothing more is known.
func TestListOfManyMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keys, err := sendlimit.NewKeys("")
	require.NoError(t, err)
	want := make([]string, 2500)
	reservations := make([]redis.Z, len(want))
	for i := range want {
		want[i] = fmt.Sprintf("m%04d", i)
		// Several at each time, so that pages end between them.
		at := now().Add(time.Duration(i/7) * time.Second)
		reservations[i] = redis.Z{Member: want[i], Score: float64(at.UnixMilli())}
	}
	require.NoError(t, f.client.ZAdd(t.Context(), keys.Timeline("alice"), reservations...).Err())
	var got []string
	for line := range strings.Lines(f.prints(t, "list", "--user", "alice")) {
		got = append(got, strings.Fields(line)[len(strings.Fields(line))-1])
	}
	require.Equal(t, append([]string{"id"}, want...), got)
	first, _, _ := strings.Cut(f.prints(t, "list", "--user", "alice", "--json"), "\n")
	require.JSONEq(t, `{"id":"m0000","user":"alice","send_at":"2026-11-21T10:00:00.000Z"}`, first)
}
