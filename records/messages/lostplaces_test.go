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

// free frees lost places at a time, without a rest.
func free(t *testing.T, client redis.UniversalClient, now time.Time) int {
	t.Helper()
	lost, err := messages.NewLostPlaces(client, sendlimit.Options{})
	require.NoError(t, err)
	freed, err := lost.Free(t.Context(), func(_ context.Context, batch func() error) error { return batch() }, now)
	require.NoError(t, err)
	return freed
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

// Of many who ask, one gets the turn, until it gives it back.
func TestOneLooksForLostPlaces(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	lost, err := messages.NewLostPlaces(client, sendlimit.Options{})
	require.NoError(t, err)
	turn := func() bool {
		mine, err := lost.Turn(t.Context(), time.Hour)
		require.NoError(t, err)
		return mine
	}
	require.Equal(t, []bool{true, false}, []bool{turn(), turn()})
	require.NoError(t, lost.GiveBack(t.Context()))
	require.Equal(t, []bool{true, false}, []bool{turn(), turn()})
	server.SetTime(time.Now().Add(time.Hour + time.Second))
	require.True(t, turn())
}
