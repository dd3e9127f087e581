package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
	got = f.run(t, append(push, "--at", on22("15:00:00"), "--json")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, `"code":"too_many_places"`)
	require.Contains(t, got.stdout, `"detail":"`+sentence)
	require.Contains(t, got.stdout, `"next_free_at":"2093-11-23T00:00:00.000Z"`)
}
