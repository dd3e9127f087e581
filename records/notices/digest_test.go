package notices_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// digestStory is an embedded store with gathered users. Its clock shows some
// minutes past twelve.
type digestStory struct {
	*testing.T

	client *redis.Client
	outbox *notices.Outbox
	keys   keyspace.Keys
}

func newDigestStory(t *testing.T) *digestStory {
	t.Helper()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:05"))
	outbox, err := notices.New(client, notices.Options{})
	require.NoError(t, err)
	return &digestStory{T: t, client: client, outbox: outbox, keys: story.KeysOf(sendlimit.Options{})}
}

// add gathers a user of a policy at a time.
func (g *digestStory) add(when, policy, user string, threshold int) {
	g.Helper()
	member := fmt.Sprintf("%d/%d/%d/10/%s/%s", story.At("00:00").UnixMilli(), threshold, threshold/10, policy, user)
	require.NoError(g, g.client.ZAdd(g.Context(), g.keys.Gathered(keyspace.Partition(user)), redis.Z{
		Score: float64(story.At(when).UnixMilli()), Member: member,
	}).Err())
}

func (g *digestStory) digest(now string) []string {
	g.Helper()
	ids, err := g.outbox.Digest(g.Context(), notices.DigestsUntil(story.At(now)))
	require.NoError(g, err)
	return ids
}

// read returns the details of a digest in the outbox.
func (g *digestStory) read(id string) notices.Details {
	g.Helper()
	claim, err := g.outbox.Claim(g.Context(), id, keyspace.NewToken(), time.Minute, time.Time{})
	require.NoError(g, err)
	require.Equal(g, notices.Send, claim.Verdict)
	details, err := claim.Notice.ParseDetails()
	require.NoError(g, err)
	return details
}

func TestDigestsOfPoliciesAndHours(t *testing.T) {
	t.Parallel()
	g := newDigestStory(t)
	g.add("10:59:59.999", "default", "emil", 80)
	g.add("11:00", "default", "ann", 80)
	g.add("11:10", "default", "ann", 100)
	g.add("11:20", "default", "bob/2", 80)
	g.add("11:30", "vip", "cleo", 80)
	g.add("12:00", "default", "dora", 80)
	require.Empty(t, g.digest("11:00:59.999"), "the servers of a cluster may tell the time differently")
	ids := g.digest("12:05")
	require.Equal(t, []string{
		notices.FormatID(notices.UserQuotaDigest, story.At("10:00"), 0, "default"),
		notices.FormatID(notices.UserQuotaDigest, story.At("11:00"), 0, "default"),
		notices.FormatID(notices.UserQuotaDigest, story.At("11:00"), 0, "vip"),
	}, ids)
	day := story.At("00:00").UnixMilli()
	require.Equal(t, notices.Details{Policy: "default", Users: []notices.DigestUser{
		{User: "ann", Day: day, Threshold: 100, Used: 10, Limit: 10},
		{User: "bob/2", Day: day, Threshold: 80, Used: 8, Limit: 10},
	}}, g.read(ids[1]))
	require.Empty(t, g.digest("12:05"))
	require.Len(t, g.digest("13:01"), 1)
}

func TestADigestListsAThousandUsers(t *testing.T) {
	t.Parallel()
	g := newDigestStory(t)
	for i := range notices.MaxDigestUsers + 7 {
		g.add("11:10", "default", fmt.Sprintf("user-%04d", i), 80)
	}
	details := g.read(g.digest("12:05")[0])
	require.Len(t, details.Users, notices.MaxDigestUsers)
	require.Equal(t, 7, details.More)
	require.Empty(t, g.digest("12:05"), "what is not listed is told of, too")
}

// failAfter is a client hook that fails every command after a script.
type failAfter struct {
	script *lua.Script
	dead   bool
}

var errDead = errors.New("dead")

func (d *failAfter) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	if d.dead {
		return errDead
	}
	err := next(ctx, cmds)
	args := cmds[0].Args()
	d.dead = err == nil && len(args) > 1 && args[1] == d.script.Hash()
	return err
}

func TestADigestIsPutOnceWhoeverDies(t *testing.T) {
	t.Parallel()
	g := newDigestStory(t)
	g.add("11:10", "default", "ann", 80)
	require.NoError(t, lua.NoticePut.Load(t.Context(), g.client).Err())
	mortal := redis.NewClient(g.client.Options())
	t.Cleanup(func() { require.NoError(t, mortal.Close()) })
	mortal.AddHook(redistest.Calls((&failAfter{script: lua.NoticePut}).onCall))
	outbox, err := notices.New(mortal, notices.Options{})
	require.NoError(t, err)
	_, err = outbox.Digest(t.Context(), notices.DigestsUntil(story.At("12:05")))
	require.ErrorIs(t, err, errDead)
	left, err := g.client.Exists(t.Context(), g.keys.Gathered(keyspace.Partition("ann"))).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, left, "it died between putting and removing")

	require.Empty(t, g.digest("12:05"), "it was put")
	left, err = g.client.Exists(t.Context(), g.keys.Gathered(keyspace.Partition("ann"))).Result()
	require.NoError(t, err)
	require.Zero(t, left)
	due, _, err := g.outbox.Due(t.Context(), story.At("12:05"), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
}

func TestAUserIsErasedFromDigests(t *testing.T) {
	t.Parallel()
	g := newDigestStory(t)
	g.add("11:10", "default", "ann", 80)
	g.add("11:10", "default", "bob", 80)
	id := g.digest("12:05")[0]
	for _, wanted := range []int{1, 0} {
		erased, err := g.outbox.EraseFromDigests(t.Context(), "ann")
		require.NoError(t, err)
		require.Equal(t, wanted, erased)
	}
	details := g.read(id)
	require.Len(t, details.Users, 1)
	require.Equal(t, "bob", details.Users[0].User)
	require.Equal(t, 1, details.More)
}

func TestNoticeIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"user_quota/1795305600000/80/an/na", "account_quota/1795305600000/100/shop",
		"user_quota_digest/1795305600000/default", "daily_report/1795305600000/shop", "callback_changed/1795305600000/shop", "keys_changed/1795305600000/shop",
	} {
		n, ok := notices.ParseID(id)
		require.True(t, ok, id)
		require.Equal(t, id, notices.FormatID(n.Kind, n.Since, n.Threshold, n.Subject))
	}
	for _, id := range []string{
		"", "user_quota", "user_quota/1/80", "user_quota/1/80/", "user_quota/1/0/a", "user_quota/1/101/a", "user_quota/x/80/a",
		"user_quota/01/80/a", "other/1/a", "daily_report/1/", "daily_report/1/" + strings.Repeat("a", 300), "user_quota/1/80/a\n",
	} {
		_, ok := notices.ParseID(id)
		require.False(t, ok, id)
	}
}
