package keyspace_test

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// The partition of a user must never change: stored keys would not be found any
// more. The numbers are FNV-1a 32 modulo 1,024.
func TestPartitionsArePinned(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1024, keyspace.Partitions)
	for user, partition := range map[string]int{
		"a":                300, // 0xe40c292c, of the function's published test vectors
		"foobar":           360, // 0xbf9cf968
		"alice":            999,
		"bob":              212,
		"u00001":           947,
		"user@example.com": 507,
		"42":               387,
		"Zoë":              476,
		"北京":               385,
		"with space":       967,
		"{p0000}":          57,
		"team:7/user:3":    216,
	} {
		require.Equal(t, partition, keyspace.Partition(user), user)
	}
}

func TestKeysAreSpelledAsDocumented(t *testing.T) {
	t.Parallel()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	require.Equal(t, "sl", keys.Prefix())
	require.Equal(t, "sl:{p0999}:u:alice", keys.Timeline("alice"))
	require.Equal(t, "sl:{p0999}:c:news:alice", keys.Category("alice", "news"))
	require.Equal(t, "sl:{p0999}:m:alice:id-1", keys.Record("alice", "id-1"))
	require.Equal(t, "sl:{p0999}:m:alice:a/b", keys.Record("alice", "a:b"))
	require.Equal(t, "sl:{p0999}:watch", keys.Near("alice"))
	require.Equal(t, "sl:{p0999}:d:alice", keys.Devices("alice"))
	require.Equal(t, "sl:{policies}:stored", keys.Policies())
	require.Equal(t, "sl:{policies}:versions:default", keys.PolicyVersions("default"))
	require.Equal(t, "sl:meta", keys.Meta())
	require.Equal(t, "sl:arrivals", keys.Arrivals())
	require.Equal(t, "sl:{activity}:d:shop:86400000", keys.ActivityDay("shop", time.UnixMilli(86_400_000)))
	require.Equal(t, "sl:{activity}:m:60000", keys.ActivityMinute(time.UnixMilli(60_000)))
	require.Equal(t, "sl:{activity}:h:3600000", keys.ActivityHour(time.UnixMilli(3_600_000)))
	require.Equal(t, "sl:{activity}:calls", keys.ActivityCalls())
	require.Equal(t, "sl:forecast", keys.Forecast())
	require.Equal(t, "sl:turn:forecast", keys.Turn(keyspace.WorkForecast))
	require.Equal(t, "sl:turn:refit:default", keys.Turn(keyspace.RefitWork("default")))

	keys, err = keyspace.NewKeys("staging_2-b")
	require.NoError(t, err)
	require.Equal(t, "staging_2-b:{p0999}:u:alice", keys.Timeline("alice"))
	require.Equal(t, "staging_2-b:{policies}:stored", keys.Policies())
}

func TestNewKeysRefuses(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"SL", "s l", "a:b", "{a}", "a}b", "é", "a\n", strings.Repeat("a", 33)} {
		_, err := keyspace.NewKeys(prefix)
		require.Equal(t, "1 to 32 of a-z 0-9 _ -", story.Invalid(t, err, "prefix", prefix))
	}
	_, err := keyspace.NewKeys(strings.Repeat("a", 32))
	require.NoError(t, err)
}

// hostileUsers are names with characters that separate keys and parameters.
var hostileUsers = []string{ //nolint:globals // a constant table
	"a", "a:b", "a:b:c", ":", "::", "a/b", "/", "//", "{", "}", "{}", "{p0001}", "*", "?", "[a]", "u:alice", "m:alice:1",
	"watch", "with space", "Zoë", "Zoe\u0308", "北京", "👩👩👧", "$1", "\"", "'", "\\", "%s", "\uFFFD", "..", "-1", "(1", "+inf", "nil",
	strings.Repeat("x", keyspace.MaxUser), strings.Repeat("界", 85),
}

func TestKeysOfHostileUsers(t *testing.T) {
	t.Parallel()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	owner := make(map[string]string)
	mine := func(key, whose string) {
		t.Helper()
		require.NotContains(t, owner, key, whose)
		owner[key] = whose
	}
	for _, user := range hostileUsers {
		require.True(t, keyspace.ValidUser(user), user)
		tag := "{p" + partitionDigits(user) + "}"
		mine(keys.Timeline(user), "timeline of "+user)
		mine(keys.Category(user, "a"), "a of "+user)
		mine(keys.Category(user, "u"), "u of "+user)
		mine(keys.Devices(user), "devices of "+user)
		for _, id := range []string{"a", "a:b", ":", "::", "b", "b:c", "watch", "u:a"} {
			mine(keys.Record(user, id), "record "+id+" of "+user)
			// A cluster hashes what is between the first "{" and the next "}".
			_, after, _ := strings.Cut(keys.Record(user, id), "{")
			require.True(t, strings.HasPrefix("{"+after, tag), keys.Record(user, id))
		}
		require.True(t, strings.HasPrefix(keys.Timeline(user), "sl:"+tag+":u:"))
		require.Equal(t, "sl:"+tag+":watch", keys.Near(user))
		require.NotContains(t, owner, keys.Near(user))
	}
}

func partitionDigits(user string) string {
	digits := strconv.Itoa(keyspace.Partition(user))
	return strings.Repeat("0", 4-len(digits)) + digits
}

// No two messages share a key or a watch member, even if users and ids contain
// colons and slashes.
func TestKeysAreUnambiguous(t *testing.T) {
	t.Parallel()
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	user := rapid.StringMatching(`[a:/]{1,4}`)
	id := rapid.StringMatching(`[a:]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		u1, u2, i1, i2 := user.Draw(t, "user"), user.Draw(t, "other user"), id.Draw(t, "id"), id.Draw(t, "other id")
		if u1 == u2 && i1 == i2 {
			return
		}
		// Two users mostly have different partitions, but not always.
		_, r1, _ := strings.Cut(keys.Record(u1, i1), "}:m:")
		_, r2, _ := strings.Cut(keys.Record(u2, i2), "}:m:")
		require.NotEqual(t, r1, r2)
		require.NotEqual(t, keyspace.WatchMember(u1, i1, "g"), keyspace.WatchMember(u2, i2, "g"))
	})
}

func TestWatchMembersReadBack(t *testing.T) {
	t.Parallel()
	const uuid, upper, none = "0f8fad5b-d9cb-469f-a165-70867728950e", "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-469f-a165-70867728950-"
	for _, user := range append([]string{uuid, upper, none, "~" + uuid, "~" + strings.Repeat("A", 22)}, hostileUsers...) {
		for _, id := range []string{"a", "a:b", "-._:", strings.Repeat("Z", keyspace.MaxID), uuid, upper, none} {
			generation := keyspace.NewToken()
			u, i, g, ok := keyspace.ParseWatchMember(keyspace.WatchMember(user, id, generation))
			require.True(t, ok)
			require.Equal(t, []string{user, id, generation}, []string{u, i, g})
		}
	}
	for _, member := range []string{
		"", "g", "g/a", "/a/alice", "g//alice", "g/a/", "g/ä/alice", "g/a/\x00", "g/a/\xff", "g/~a/alice",
		"g/~" + strings.Repeat("A", 21) + "B/alice", "g/a~" + strings.Repeat("A", 22) + "/", "g/~" + strings.Repeat("A", 22),
	} {
		_, _, _, ok := keyspace.ParseWatchMember(member)
		require.False(t, ok, "%q", member)
	}
}

// A sorted set with a member of more than 64 bytes leaves the compact encoding of Redis.
func TestTheWatchMemberOfUUIDsIsShort(t *testing.T) {
	t.Parallel()
	for range 100 {
		user, id, generation := newUUID(), newUUID(), keyspace.NewToken()
		member := keyspace.WatchMember(user, id, generation)
		require.LessOrEqual(t, len(member), 64)
		u, i, g, ok := keyspace.ParseWatchMember(member)
		require.True(t, ok)
		require.Equal(t, []string{user, id, generation}, []string{u, i, g})
		_, _, _, ok = keyspace.ParseWatchMember(generation + "/" + id + "/" + user)
		require.False(t, ok, "nobody spells them so")
	}
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// The timeline of a hostile user works like any other, and belongs to no other
// user.
func TestHostileUsersHaveTimelinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	for _, user := range hostileUsers {
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: "a:b", At: story.At("11:11:11"), Record: story.RecordOf("g", user),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed, user)
		require.False(t, d.Replayed, user)
	}
	for _, user := range hostileUsers {
		list, err := s.Timeline.List(t.Context(), sendlimit.ListRequest{User: user})
		require.NoError(t, err)
		require.Equal(t, []keyspace.Reservation{{ID: "a:b", At: story.At("11:11:11")}}, list)
		d, err := s.Timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: user, ID: "a:b"})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.False(t, d.Replayed)
	}
	for _, user := range hostileUsers {
		require.False(t, s.Server.Exists(story.KeysOf(s.Options).Timeline(user)))
		require.Empty(t, story.WatchedOf(t, s.Client, story.KeysOf(s.Options), user))
	}
}

// Names with the maximum length are valid.
func TestUsersAndIDsAtTheirBounds(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"a", "a b", strings.Repeat("x", 256), strings.Repeat("界", 85) + "x", "José", "a\u0301", "🙂", "\u0601"} {
		require.True(t, keyspace.ValidUser(user), "%q", user)
		require.NoError(t, keyspace.CheckUser(user))
	}
	// Names that look the same as another one.
	for user, hidden := range map[string]string{
		"": "", " ": "", "u9 ": "", " u9": "", "u9\t": "", "u9\u00a0": "; it has U+00A0", "\ufeffu9": "; it has U+FEFF",
		"u9\u200b": "; it has U+200B", "u\u00ad9": "; it has U+00AD", "u\u202e9": "; it has U+202E", "u9\ufe0f": "; it has U+FE0F",
		"\u3164": "; it has U+3164", "u\u30009": "; it has U+3000", "u\u20289": "; it has U+2028", "\u2800": "; it has U+2800",
		"u\U000e00209": "; it has U+E0020", strings.Repeat("x", 257): "", "\xff\x00": "",
	} {
		require.False(t, keyspace.ValidUser(user), "%q", user)
		require.Equal(t, &fault.InvalidError{Field: "user", Value: user, Want: keyspace.WantUser + hidden}, keyspace.CheckUser(user))
	}
	require.NoError(t, keyspace.CheckUserPrefix("anna "), "of anna smith")
	require.Equal(t, &fault.InvalidError{Field: "user_prefix", Value: " a", Want: keyspace.WantUser}, keyspace.CheckUserPrefix(" a"))
	require.True(t, keyspace.ValidKey(" \u00a0"))
	for _, id := range []string{"a", ".", ":", "-", "_", strings.Repeat("Z9", 64)} {
		require.True(t, keyspace.ValidID(id), "%q", id)
	}
}
