package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

func TestFind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "same", "--title", "Hi", "--campaign", "spring")
	f.prints(t, "push", "--user", "bob", "--at", on22("12:11:11"), "--id", "same", "--title", "Ho", "--category", "news")

	found := f.prints(t, "find", "same")
	require.Equal(t, 2, strings.Count(found, "scheduled: message same to "))
	require.Contains(t, found, "to alice is to be sent at 2093-11-22 11:11:11 UTC")
	require.Contains(t, found, "  title     Ho\n")
	require.Equal(t, 2, strings.Count(f.prints(t, "find", "same", "--json"), `"id":"same"`))

	const header = "send time                     status     user              id                    campaign      category\n"
	alice := "2093-11-22 11:11:11 UTC       scheduled  alice             same                  spring\n"
	bob := "2093-11-22 12:11:11 UTC       scheduled  bob               same                                news\n"
	for _, row := range []struct {
		flags string
		found string
	}{
		{"--campaign spring", header + alice},
		{"--category news", header + bob},
		{"--user-prefix b", header + bob},
		{"--status scheduled --until " + on22("12:00:00"), header + alice},
		{"--from " + on22("12:00:00"), header + bob},
		{"--status delivered", "no messages match\n"},
	} {
		require.Equal(t, row.found, f.prints(t, append([]string{"find"}, strings.Fields(row.flags)...)...), row.flags)
	}
	require.Empty(t, f.prints(t, "find", "--status", "delivered", "--json"))

	none := f.run(t, "find", "none")
	require.Equal(t, cli.StatusNotFound, none.status)
	require.Equal(t, "not found: no message \"none\": it was never accepted, or ended too long ago\n", none.stdout)
	for _, wrong := range [][]string{{"--status", "gone"}, {"--from", "+1h", "--until", "now"}, {"a b"}} {
		require.Equal(t, cli.StatusInvalid, f.run(t, append([]string{"find"}, wrong...)...).status, "%q", wrong)
	}
	for _, empty := range [][]string{{""}, {"--campaign", ""}, {"--from", ""}, {"--until", ""}} { // would be all messages
		got := f.run(t, append([]string{"find"}, empty...)...)
		require.Equal(t, cli.StatusInvalid, got.status, "%q", empty)
		require.Contains(t, got.stderr, "leave it out", "%q", empty)
	}
}
