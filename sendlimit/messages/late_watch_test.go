package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// A claim that places other messages anew spells their entries as Go does, also with UUIDs,
// and finds those that are still far, as after a while without workers.
func TestALateMessageOfUUIDsIsWatched(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	keys := story.KeysOf(s.Options)
	for _, user := range []string{"7c9e6679-7425-40de-944b-e07fc1f90ae7", "7C9E6679-7425-40DE-944B-E07FC1F90AE7", "a:b/c}:u:d"} {
		ids := []string{
			"a", "0f8fad5b-d9cb-469f-a165-70867728950e", "00000000-0000-0000-0000-000000000000",
			"ffffffff-ffff-ffff-ffff-ffffffffffff", "FFFFFFFF-ffff-ffff-ffff-ffffffffffff", "0f8fad5b-d9cb-469f-a165-70867728950g",
			"0f8fad5b-d9cb-469f-a16570867728950e-", "0f8fad5bd9cb-469f-a165-70867728950e1",
		}
		for i, id := range ids {
			d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
				User: user, ID: id, At: s.Now.Add(time.Duration(i+1) * time.Minute), Record: story.RecordOf(fmt.Sprint("g", i), "text"),
			})
			require.NoError(t, err)
			require.True(t, d.Allowed)
		}
		s.Wait(time.Hour)
		claim, err := s.Gate.Claim(t.Context(), messages.Delivery{User: user, ID: "a", Generation: "g0", Nonce: "n"}, story.Lease, time.Time{})
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict)
		wanted := make(map[string]bool)
		for _, id := range ids {
			wanted[keyspace.WatchMember(user, id, s.Server.HGet(keys.Record(user, id), "g"))] = true
		}
		for member := range story.WatchedOf(t, s.Client, keys, user) {
			require.True(t, wanted[member], "%q", member)
			delete(wanted, member)
		}
		require.Empty(t, wanted)
	}
}
