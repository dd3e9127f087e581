package client_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// What another system has sent counts, and sent again it changes nothing.
func TestSendsAreRecordedOnTheRealAPI(t *testing.T) {
	t.Parallel()
	c := realAPIOf(t)
	sends := []client.Message{
		{ID: "s", User: "alice", SendAt: at("2026-11-22T09:11:11Z")},
		{ID: "old", User: "alice", SendAt: at("2020-11-20T11:11:11Z")},
		{ID: "s", User: "alice", SendAt: at("2026-11-22T10:00:00Z")},
		{User: "alice", SendAt: at("2027-11-22T11:11:11Z")},
	}
	for _, again := range []bool{false, true} {
		results := listed(t, c.RecordSent(t.Context(), slices.Values(sends)))
		require.Len(t, results, len(sends))
		require.Equal(t, client.Accepted{ID: "s", User: "alice", SendAt: sends[0].SendAt, Replayed: again}, results[0].Accepted)
		require.True(t, results[1].Accepted.Forgotten)
		var refused *client.Refusal
		require.ErrorAs(t, results[2].Err, &refused)
		require.Equal(t, client.CodeIDReused, refused.Code)
		var wrong *client.InvalidError
		require.ErrorAs(t, results[3].Err, &wrong)
		require.Equal(t, "send_at", wrong.Field)
	}
}
