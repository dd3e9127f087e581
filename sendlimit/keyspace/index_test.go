package keyspace_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// A score must never change: stored entries would not be found any more. The hashes of "a"
// and "foobar" are published test vectors of FNV-1a 64: af63dc4c8601ec8c and 85944171f73967e8.
func TestScoresOfTheIndexArePinned(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(0xaf63dc4c>>1), keyspace.IDScore("a"))
	require.Equal(t, int64(0x85944171>>1), keyspace.IDScore("foobar"))
	require.Equal(t, int64(0xaf63)<<15+0x8594>>1, keyspace.CampaignScore("foobar", "a"))
	require.Equal(t, int64(0xaf63)<<15+0xcbf2>>1, keyspace.CampaignScore("", "a"), "no account")
	first, last := keyspace.CampaignScores("a")
	require.Equal(t, int64(0xaf63)<<15, first)
	require.Equal(t, int64(0xaf64)<<15-1, last)
	require.Equal(t, int64(1)<<31-1, int64(keyspace.MaxIndexScore))
}

func TestKeysOfTheIndex(t *testing.T) {
	t.Parallel()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	require.Equal(t, "sl:{p0042}:ids", keys.IDs(42, 0))
	require.Equal(t, "sl:{p0042}:ids:0", keys.IDs(42, 1))
	require.Equal(t, "sl:{p0042}:camps:f", keys.Campaigns(42, keyspace.IndexShards))
	require.Equal(t, "sl:{p0042}:camps:long", keys.Campaigns(42, keyspace.IndexParts-1))

	// A member has 2 bytes more than the id and the user.
	user := strings.Repeat("a", 57)
	require.Equal(t, keys.IDs(keyspace.Partition(user), 0), keys.IndexKeys(user, "01234")[0])
	user += "a"
	long := keys.IDs(keyspace.Partition(user), keyspace.IndexParts-1)
	require.Equal(t, []string{long, long}, keys.IndexKeys(user, "01234")[:2])
}

func TestPartsOfTheIndex(t *testing.T) {
	t.Parallel()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	for _, id := range []string{"a", newUUID()} {
		first, other := keyspace.IndexPartsOf("alice", id)
		require.Zero(t, first)
		require.Equal(t, keys.Far("alice", id), keys.FarOf(keyspace.Partition("alice"), other-1), "the shard is the far list")
		require.Equal(t, []int{first, other, keyspace.IndexParts - 1}, keyspace.IndexPartsOfID(id))
	}
}

func TestMembersOfTheIndexReadBack(t *testing.T) {
	t.Parallel()
	for _, user := range append([]string{newUUID(), "~" + newUUID()}, hostileUsers...) {
		for _, id := range []string{"a", "a:b", strings.Repeat("Z", keyspace.MaxID), newUUID()} {
			gotUser, gotID, ok := keyspace.ParseIndexMember(keyspace.IndexMember(user, id))
			require.True(t, ok)
			require.Equal(t, []string{user, id}, []string{gotUser, gotID})
		}
	}
	for _, member := range []string{"", "a/alice", "/", "/a", "//alice", "/a/", "x/a/alice"} {
		_, _, ok := keyspace.ParseIndexMember(member)
		require.False(t, ok, "%q", member)
	}
	// With 128 entries of 64 bytes, Redis keeps a sorted set compact.
	require.Len(t, keyspace.IndexMember(newUUID(), newUUID()), 47)
}
