package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/audit"
)

func TestCampaign(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id, clock := range map[string]string{"a": "11:00:00", "b": "11:30:00", "c": "12:30:00"} {
		f.prints(t, "push", "--user", "alice", "--at", on22(clock), "--id", id, "--title", "Hi", "--campaign", "spring")
	}
	f.prints(t, "push", "--user", "alice", "--at", on22("13:30:00"), "--id", "other", "--title", "Hi")
	f.prints(t, "cancel", "--user", "alice", "b")

	require.Equal(t, "campaign spring: 3 messages\n  cancelled  1\n  scheduled  2\n", f.prints(t, "campaign", "count", "spring"))
	require.Equal(t, "campaign fall: 0 messages\n", f.prints(t, "campaign", "count", "fall"))
	require.Contains(t, f.prints(t, "campaign", "list", "spring"), "2093-11-22 11:00:00 UTC  scheduled  a to alice\n")
	require.Contains(t, f.prints(t, "campaign", "list", "spring", "--json"),
		`{"id":"c","user":"alice","status":"scheduled","send_at":"2093-11-22T12:30:00.000Z","campaign":"spring"}`)

	detail := "refused: message c to alice: "
	for _, step := range []struct{ flag, did string }{{"--dry-run", "could be moved"}, {"--dry-run=false", "moved"}} {
		got := f.prints(t, "campaign", "move", "spring", "--by", "1h", step.flag)
		require.Contains(t, got, detail)
		require.Contains(t, got, "of 3 messages, 1 "+step.did+" by 1h0m0s\n  1 refused: 1/minute\n")
	}
	log, err := audit.New(f.client, audit.Options{})
	require.NoError(t, err)
	entries, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotEqual(t, "1h", e.By, "--by is how far it moves, and not who moves it")
	}
	require.NotEmpty(t, entries)
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), "moved: message a to alice was moved from 2093-11-22 11:00:00 UTC to 2093-11-22 12:00:00 UTC")

	require.Contains(t, f.prints(t, "campaign", "pause", "spring"), "campaign spring: 3 messages, paused since 2093-11-21 10:00:00 UTC\n")
	require.Equal(t, "campaign spring: of 3 messages, 2 cancelled\n", f.prints(t, "campaign", "cancel", "spring"))
	require.JSONEq(t, `{"outcome":"campaign_cancelled","campaign":"spring","messages":3,"done":0,"refused":0,"gone":0,"complete":true}`,
		f.prints(t, "campaign", "cancel", "spring", "--json"))
	require.Contains(t, f.prints(t, "status", "--user", "alice", "other"), "scheduled: ")

	for _, row := range []struct{ args, sentence string }{
		{"0s", `by "0s" is not allowed: use a length of time such as 1h or -30m`},
		{"soon", `--by "soon" is no duration: write 1h, 90m or -30m`},
	} {
		got := f.run(t, "campaign", "move", "spring", "--by", row.args)
		require.Equal(t, 2, got.status)
		require.Contains(t, got.stderr, row.sentence)
	}
	got := f.run(t, "campaign", "count", "a b")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, `campaign "a b" is not allowed: use 1 to 64 of a-z A-Z 0-9 . _ -`)
}
