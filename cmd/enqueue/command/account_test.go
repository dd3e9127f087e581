package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// account makes an account that may send so many messages a day.
func (f *fixture) account(t *testing.T, name string, perDay int64) {
	t.Helper()
	directory := accounts.New(f.client, keyspace.KeysUnder(""))
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: name, MessagesPerDay: perDay}))
	_, err := directory.Create(t.Context(), accounts.Account{Name: name, Tier: name})
	require.NoError(t, err)
}

func TestAnAccountIsChargedAndSeesItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account(t, "acme", 1)
	f.push(t, "free", "09:00:00")
	push := []string{"push", "--account", "acme", "--user", "alice", "--title", "Hi", "--at", on22("10:00:00"), "--id", "paid"}
	f.prints(t, push...)
	f.prints(t, push...)
	push[len(push)-1] = "more"
	refused := f.run(t, push...)
	require.Equal(t, 3, refused.status)
	require.Contains(t, refused.stdout+refused.stderr, "account acme has no messages left for the day 2093-11-22: its quota is 1 per day; "+
		"the next begins at 2093-11-23 00:00 UTC")
	require.Contains(t, f.prints(t, "list", "--user", "alice"), "free")
	f.prints(t, "push", "--user", "alice", "--at", on22("08:00:00"), "--title", "Secret", "--id", "secret")
	taken := f.run(t, "push", "--account", "acme", "--user", "alice", "--title", "Hi", "--at", on22("08:00:01"))
	require.Equal(t, 3, taken.status)
	require.NotContains(t, taken.stdout, "Secret", "the title of another's message")
	own := f.prints(t, "list", "--user", "alice", "--account", "acme")
	require.NotContains(t, own, "free")
	require.Contains(t, own, "paid")
	for _, command := range [][]string{
		{"status", "free"}, {"cancel", "free"}, {"move", "free", "--at", on22("11:00:00")},
	} {
		got := f.run(t, append(command, "--user", "alice", "--account", "acme")...)
		require.Equal(t, 4, got.status, "%v: %+v", command, got)
	}
	f.environ = append(f.environ, "SENDLIMIT_ACCOUNT=acme")
	f.prints(t, "move", "--user", "alice", "paid", "--at", on22("12:00:00"))
	f.prints(t, "cancel", "--user", "alice", "paid")
	f.prints(t, push...)
}

func TestAnUnknownAccountIsOneClearError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.account(t, "gone", 1)
	directory := accounts.New(f.client, keyspace.KeysUnder(""))
	disabled := true
	_, err := directory.Set(t.Context(), "gone", accounts.Change{Disabled: &disabled})
	require.NoError(t, err)
	for name, wanted := range map[string]string{
		"acme": `there is no account "acme"`,
		"gone": `account "gone" is disabled`,
		"A B":  `account "A B" is not allowed: use a name of 1 to 64 of a-z 0-9 _ -`,
	} {
		for _, command := range []string{"list", "push", "status", "cancel", "move"} {
			args := map[string][]string{
				"push": {"--at", "now", "--title", "Hi"}, "status": {"1"}, "cancel": {"1"}, "move": {"1", "--at", "now"},
			}[command]
			got := f.run(t, append([]string{command, "--user", "alice", "--account", name}, args...)...)
			require.Equal(t, 2, got.status, "%s: %+v", command, got)
			require.Contains(t, got.stderr, wanted, command)
		}
	}
}
