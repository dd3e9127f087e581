package userdata_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/userdata"
)

// Export has the changes about a user. Erase removes the user from them, and leaves those about
// others as they are.
func TestChangesAboutAUser(t *testing.T) {
	t.Parallel()
	_, embedded := redistest.Embedded(t)
	for name, client := range map[string]redis.UniversalClient{"embedded": embedded, "cluster": redistest.RealCluster(t).Client()} {
		t.Run(name, func(t *testing.T) {
			log, err := audit.New(client, audit.Options{})
			require.NoError(t, err)
			users, err := userdata.New(client, sendlimit.Options{})
			require.NoError(t, err)
			change := func(user, message string) {
				id, err := log.Begin(t.Context(), audit.Entry{
					Account: "acme", Key: "k1", Address: "10.0.0.1", Action: "move message", User: user, Message: message, Detail: "of " + user,
				})
				require.NoError(t, err)
				require.NoError(t, log.End(t.Context(), id, audit.Refused, "too_late", user+" has got "+message))
			}
			change("alice", "a1")
			change("alice2", "b1")
			change("alice", "a2")
			before, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
			require.NoError(t, err)
			require.Len(t, before, 3)

			data, err := users.Export(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.False(t, data.Empty())
			want := []audit.Entry{before[2], before[0]}
			for i := range want {
				want[i].Key, want[i].Address = "", ""
			}
			require.Equal(t, want, data.Changes)

			erased, err := users.Erase(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.Equal(t, userdata.Erased{Entries: 2}, erased)
			after, _, err := log.Page(t.Context(), audit.Filter{}, "", 10)
			require.NoError(t, err)
			for _, i := range []int{0, 2} {
				before[i].User, before[i].Message, before[i].Detail, before[i].Answer, before[i].Erased = "", "", "erased", "", true
			}
			require.Equal(t, before, after)
			data, err = users.Export(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.True(t, data.Empty())
			erased, err = users.Erase(t.Context(), "alice", nil)
			require.NoError(t, err)
			require.Equal(t, userdata.Erased{}, erased)
		})
	}
}
