package messages_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Entries of another program may stand at the head of a watch list, more than one look
// reads. They stay, they are counted, and what is behind them is found.
func TestUnreadableEntriesHideNothing(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	watch, err := messages.NewWatchList(client, sendlimit.Options{})
	require.NoError(t, err)
	keys, err := keyspace.NewKeys(keyspace.DefaultPrefix)
	require.NoError(t, err)
	at := story.At("11:00")
	add := func(count int, member func(int) string) {
		for k := range count {
			require.NoError(t, client.ZAdd(t.Context(), keys.Near("alice"),
				redis.Z{Score: float64(at.UnixMilli()), Member: member(k)}).Err())
			at = at.Add(time.Millisecond)
		}
	}
	const strange = 2345
	add(strange, func(k int) string { return fmt.Sprintf("v9:%06d", k) })
	add(3, func(k int) string { return keyspace.WatchMember("alice", fmt.Sprint("m", k), "g") })
	for _, perPartition := range []int{1, 2, 100} {
		due, unreadable, err := watch.Due(t.Context(), at, perPartition)
		require.NoError(t, err)
		require.Equal(t, strange, unreadable)
		require.Len(t, due, min(perPartition, 3))
		for k, entry := range due {
			require.Equal(t, fmt.Sprint("m", k), entry.ID)
		}
	}
	require.EqualValues(t, strange+3, client.ZCard(t.Context(), keys.Near("alice")).Val())
}

// What is handed over later than in five minutes is not in the near list, and comes there in
// time.
func TestFarEntriesComeNearInTime(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "99/minute")
	keys := story.KeysOf(s.Options)
	near := func() []string {
		members, err := s.Client.ZRange(t.Context(), keys.Near("alice"), 0, -1).Result()
		require.NoError(t, err)
		return members
	}
	now := story.At("11:00")
	s.Until("11:00")
	last := now.Add(5*time.Minute + sendlimit.DefaultHorizon)
	for i, at := range []time.Time{last, last.Add(time.Millisecond), last.Add(time.Hour)} {
		id := fmt.Sprint("m", i)
		require.True(t, s.Ask(sendlimit.Request{ID: id, At: at, Record: story.RecordOf("g"+id, "text")}).Allowed)
	}
	require.Equal(t, []string{"gm0/m0/alice"}, near())
	moved, err := s.Watch.BringNear(t.Context(), now)
	require.NoError(t, err)
	require.Zero(t, moved)
	for range 2 {
		due, _, err := s.Watch.Due(t.Context(), last.Add(2*time.Hour), 10)
		require.NoError(t, err)
		require.Len(t, due, 1)
	}
	moved, err = s.Watch.BringNear(t.Context(), now.Add(time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	require.Equal(t, []string{"gm0/m0/alice", "gm1/m1/alice"}, near())
	s.Watched("gm0/m0 11:05:00", "gm1/m1 11:05:00.001", "gm2/m2 12:05:00")
	pending, err := s.Watch.Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, pending)

	// An entry that is brought near a second time keeps what it got there.
	s.Until("11:05")
	_, err = s.Watch.HandOver(t.Context(), []sendlimit.Timer{{User: "alice", ID: "m0", Generation: "gm0"}}, time.Time{})
	require.NoError(t, err)
	_, err = s.Server.ZAdd(keys.Far("alice", "m0"), float64(story.At("11:05").UnixMilli()), "gm0/m0/alice")
	require.NoError(t, err)
	_, err = s.Watch.BringNear(t.Context(), story.At("11:05"))
	require.NoError(t, err)
	s.Watched("gm1/m1 11:05:00.001", "gm0/m0 11:05:10", "gm2/m2 12:05:00")
}

// A change removes the entry of the former generation, wherever it is.
func TestAFarMessageIsChanged(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "99/minute")
	s.Until("11:00")
	s.Submit("a", "13:00", "g1", "text")
	require.True(t, s.MoveTo("a", "14:00", "g2").Allowed)
	s.Watched("g2/a 13:58:00")
	require.True(t, s.MoveTo("a", "11:01", "g3").Allowed)
	s.Watched("g3/a 11:00:10")
	require.True(t, s.MoveTo("a", "15:00", "g4").Allowed)
	s.Watched("g4/a 14:58:00")
	require.True(t, s.Release("a").Allowed)
	s.Watched()
}

// Far entries are moved in parts, from all lists of all partitions.
func TestManyFarEntriesComeNear(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "1/minute")
	keys := story.KeysOf(s.Options)
	const each = 777 // more than one call moves
	want := 0
	for _, user := range []string{"alice", "bob"} {
		for list := range keyspace.FarLists {
			for n := range each / keyspace.FarLists {
				member := keyspace.WatchMember(user, fmt.Sprintf("m%d-%d", list, n), "g")
				_, err := s.Server.ZAdd(keys.FarOf(keyspace.Partition(user), list), float64(n), member)
				require.NoError(t, err)
				want++
			}
		}
	}
	moved, err := s.Watch.BringNear(t.Context(), time.UnixMilli(1000))
	require.NoError(t, err)
	require.Equal(t, want, moved)
	for _, user := range []string{"alice", "bob"} {
		for list := range keyspace.FarLists {
			require.False(t, s.Server.Exists(keys.FarOf(keyspace.Partition(user), list)))
		}
	}
	pending, err := s.Watch.Pending(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, pending)
}

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

// free frees lost places at a time, without a rest.
func free(t *testing.T, client redis.UniversalClient, now time.Time) int {
	t.Helper()
	lost := messages.NewLostPlaces(client, keyspace.KeysUnder(""))
	freed, err := lost.Free(t.Context(), func(_ context.Context, batch func() error) error { return batch() }, now)
	require.NoError(t, err)
	return freed.Places
}

// The records of some messages are lost. Their places are freed wherever they are; those of
// others stay, and so does what may have been sent.
func TestPlacesWithoutARecordAreFreed(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "1/hour")
	p.Categories = map[string]policy.CategoryRules{
		"news": {Rules: story.LimitsOf(t, "1/day")}, "otp": {Exempt: true, Uncounted: true},
	}
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, p)})
	keys := story.KeysOf(s.Options)
	submit := func(id, category, at string) sendlimit.Decision {
		r := sendlimit.Request{User: "alice", ID: id, Category: category, At: story.At(at), Record: story.RecordOf("g-"+strings.ReplaceAll(id, ":", "-"), "text"), Now: s.Now}
		d, err := s.Timeline.Reserve(t.Context(), r)
		require.NoError(t, err)
		return d
	}
	categories := map[string]string{"a:1": "", "b": "news", "c": "otp", "kept": "", "kept-b": "news", "kept-c": "otp"}
	for i, id := range []string{"a:1", "b", "c", "kept", "kept-b", "kept-c"} {
		day := 24 * time.Hour * time.Duration(i)
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: id, Category: categories[id], At: story.At("11:00").Add(day), Record: story.RecordOf("g-"+strings.ReplaceAll(id, ":", "-"), "text"), Now: s.Now,
		})
		require.NoError(t, err)
		require.True(t, d.Allowed, id)
	}
	sets := []string{keys.Timeline("alice"), keys.Uncounted("alice"), keys.Category("alice", "news")}
	places := func() (left []string) {
		for _, set := range sets {
			left = append(left, s.Client.ZRange(t.Context(), set, 0, -1).Val()...)
		}
		return left
	}
	before := places()
	require.Zero(t, free(t, s.Client, s.Now))
	require.Equal(t, before, places())

	for _, id := range []string{"a:1", "b", "c"} {
		s.Server.Del(keys.Record("alice", id))
	}
	require.Zero(t, free(t, s.Client, story.At("11:00").Add(2*24*time.Hour-59*time.Second)), "they may have been sent")
	require.False(t, submit("d", "", "11:30").Allowed)
	require.Equal(t, 4, free(t, s.Client, s.Now), "b was in two sets")
	require.Equal(t, []string{"kept", "kept-b", "kept-c", "kept-b"}, places())
	require.True(t, submit("d", "", "11:30").Allowed)
}

// A user has more places than one call looks at, and others have as many as one round trip
// takes and more.
func TestManyLostPlacesAreFreed(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	keys, err := keyspace.NewKeys(keyspace.DefaultPrefix)
	require.NoError(t, err)
	now := story.At("10:00")
	add := func(user string, n int) (kept []string) {
		for i := range n {
			id := fmt.Sprintf("m:%04d", i)
			at := now.Add(time.Hour + time.Duration(i)*time.Second)
			require.NoError(t, client.ZAdd(t.Context(), keys.Timeline(user), redis.Z{Score: float64(at.UnixMilli()), Member: id}).Err())
			if i%3 == 0 {
				kept = append(kept, id)
				require.NoError(t, client.HSet(t.Context(), keys.Record(user, id), "g", "g").Err())
			}
		}
		return kept
	}
	users := map[string][]string{"u:x:": add("u:x:", 1700)}
	for i := range 70 {
		user := fmt.Sprintf("user:%d", i)
		users[user] = add(user, 3)
	}
	require.Equal(t, 1133+70*2, free(t, client, now))
	for user, kept := range users {
		require.Equal(t, kept, client.ZRange(t.Context(), keys.Timeline(user), 0, -1).Val(), user)
	}
	require.Zero(t, free(t, client, now))
}
