package keyspace_test

import (
	"crypto/rand"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
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

// The fragment of each hash documents exactly the fields that its table spells.
func TestFieldsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "fields.go", nil, 0)
	require.NoError(t, err)
	spelled := make(map[string][]string) // by what the names begin with
	ast.Inspect(file, func(n ast.Node) bool {
		constant, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := constant.Values[0].(*ast.BasicLit)
		require.True(t, ok)
		letter, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		kind := regexp.MustCompile(`^[A-Z][a-z]+`).FindString(constant.Names[0].Name)
		spelled[kind] = append(spelled[kind], letter)
		return true
	})
	documented := regexp.MustCompile(`(?m)^--   ([A-Za-z])  |(?:^|\s{2,})([a-z])  [a-z]`)
	for kind, fragment := range map[string]string{"Record": "record", "Notice": "outbox", "Event": "event"} {
		text, err := os.ReadFile("../../lua/fragments/" + fragment + ".lua")
		require.NoError(t, err)
		header, _, _ := strings.Cut(string(text), "\nlocal ")
		var letters []string
		for _, match := range documented.FindAllStringSubmatch(header, -1) {
			letters = append(letters, match[1]+match[2])
		}
		slices.Sort(letters)
		slices.Sort(spelled[kind])
		require.Equal(t, letters, spelled[kind], fragment)
	}
}

// A content is joined from its fields as it was. No field of a content of up to 512 bytes
// is longer than Redis' compact encoding allows.
func TestContentsAreSplitAndJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 700).Draw(t, "content")
		pairs := keyspace.AppendContent(nil, content)
		fields := make(map[string]string)
		for k := 0; k < len(pairs); k += 2 {
			name, _ := pairs[k].(string)
			value, _ := pairs[k+1].([]byte)
			require.Contains(t, keyspace.ContentFields(), name)
			if len(content) <= 512 {
				require.LessOrEqual(t, len(value), 64)
			} else {
				require.Len(t, pairs, 2)
			}
			fields[name] = string(value)
		}
		require.Equal(t, content, keyspace.JoinContent(func(field string) (string, bool) {
			value, ok := fields[field]
			return value, ok
		}))
	})
	metadata := []byte(strings.Repeat("m", 130))
	require.Equal(t, []any{"M", metadata[:64], "N", metadata[64:128], "O", metadata[128:]}, keyspace.AppendMetadata(nil, metadata))
	require.Equal(t, metadata, keyspace.JoinMetadata(func(field string) (string, bool) {
		value, ok := map[string]string{"M": string(metadata[:64]), "N": string(metadata[64:128]), "O": "mm"}[field]
		return value, ok
	}))
	require.Empty(t, keyspace.AppendContent(nil, nil))
	require.Equal(t, []any{"before", keyspace.RecordContent, []byte("x")}, keyspace.AppendContent([]any{"before"}, []byte("x")))
	require.Nil(t, keyspace.JoinContent(func(string) (string, bool) { return "", false }))
}

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
