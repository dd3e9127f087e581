package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func TestARefusalInQuietHoursExplainsItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(t, fullPolicy(t))
	args := []string{"push", "--user", "alice", "--at", "2093-11-23T23:30:00Z", "--title", "Hi", "--id", "a"}
	got := f.run(t, append(args, "--tz", "Europe/Berlin")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "refused: alice can't get a message at 2093-11-24 00:30:00 CET\n")
	require.Contains(t, got.stdout, "\n  22:00-08:00  quiet hours in Europe/Berlin (2093-11-23 22:00:00 CET to 2093-11-24 08:00:00 CET)\n")
	require.Contains(t, got.stdout, "\n  free before  2093-11-23 21:59:59.999 CET\n  next free    2093-11-24 08:00:00 CET\n")
	_, try, found := strings.Cut(got.stdout, "\n  try  sendlimit ")
	require.True(t, found)
	require.Zero(t, f.run(t, strings.Fields(try)...).status, "what it says to try is accepted")
	json := f.run(t, append(args, "--json", "--id", "b")...)
	require.Equal(t, 3, json.status)
	require.Contains(t, json.stdout, `"code":"quiet_hours"`)
	require.Contains(t, json.stdout, `"quiet_hours":{"hours":"22:00-08:00","time_zone":"Europe/Berlin",`+
		`"from":"2093-11-23T21:00:00.000Z","until":"2093-11-24T07:00:00.000Z"}`)
}

func TestARefusalOfABlockedUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	settings := settings.NewUsers(f.client, keyspace.KeysUnder(""))
	require.NoError(t, settings.Set(t.Context(), "alice", policy.UserSettings{Blocked: true}))
	got := f.run(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.True(t, strings.HasPrefix(got.stdout, "refused: alice is blocked"), got.stdout)
	require.Contains(t, f.run(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi", "--json").stdout, `"code":"blocked"`)
	_, summary := f.bulk(t, fileOf(t, messageLine("alice", "11:11:11")), "--dry-run")
	require.Contains(t, summary, `"refused_by_rule":{},"refused_by_code":{"blocked":1}`)
	require.Contains(t, f.prints(t, "usage", "--user", "alice"), "\n  blocked: no message is accepted\n")
	require.Contains(t, f.prints(t, "usage", "--user", "alice", "--json"), `"free":[],"blocked":true,`)
	require.NotContains(t, f.prints(t, "usage", "--user", "bob"), "blocked")
	require.NotContains(t, f.prints(t, "usage", "--user", "bob", "--json"), "blocked")
}

func TestUsageAndNextFreeOfACategory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.apply(t, fullPolicy(t))
	for _, id := range []string{"a", "b"} {
		f.prints(t, "push", "--user", "alice", "--at", "2093-11-23T1"+map[string]string{"a": "1", "b": "2"}[id]+":00:00Z",
			"--id", id, "--title", "Hi", "--category", "marketing")
	}
	span := []string{"usage", "--user", "alice", "--at", "2093-11-23T15:00:00Z", "--from", "2093-11-23T05:00:00Z", "--until", "2093-11-24T05:00:00Z"}
	all := f.prints(t, span...)
	require.NotContains(t, all, "marketing")
	require.Contains(t, all, "  07:00  ---")
	require.Contains(t, all, "  06:00  ....")
	require.Contains(t, all, ". quiet")
	marketing := f.prints(t, append(span, "--category", "marketing")...)
	require.Contains(t, marketing, "  marketing 2/calendar_day  ####################  2/2 ")
	require.Contains(t, marketing, "  15:00  ####")
	require.Contains(t, f.prints(t, append(span, "--category", "marketing", "--json")...), `"quiet":[{"from":"2093-11-23T05:00:00.000Z",`)
	require.Contains(t, f.prints(t, "next-free", "--user", "alice", "--from", "2093-11-23T15:00:00Z"), "2093-11-23 15:00:00 UTC")
	require.Contains(t, f.prints(t, "next-free", "--user", "alice", "--from", "2093-11-23T15:00:00Z", "--category", "marketing"),
		"2093-11-24 07:00:00 UTC")
	bad := f.run(t, "next-free", "--user", "alice", "--category", "A B")
	require.Equal(t, 2, bad.status, bad)
	require.Contains(t, bad.stderr, `category "A B" is not allowed`)
}

// A user may have only so many messages in a day, whatever the rules allow.
func TestARefusalOfAFullDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.environ = append(f.environ, "SENDLIMIT_PLACES_PER_DAY=2")
	push := []string{"push", "--user", "alice", "--title", "Hi"}
	for _, clock := range []string{"11:11:11", "12:11:11"} {
		require.Zero(t, f.run(t, append(push, "--at", on22(clock))...).status)
	}
	const sentence = "alice already has 2 messages on 2093-11-22 (UTC), the most that the setting places_per_day allows; the next free time is 2093-11-23 00:00:00"
	got := f.run(t, append(push, "--at", on22("15:00:00"))...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "refused: "+sentence)
}
