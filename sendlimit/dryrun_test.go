package sendlimit_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// afterEach runs a function after each call of a client.
func afterEach(do func()) redis.Hook {
	return redistest.Calls(func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
		defer do()
		return next(ctx, cmds)
	})
}

// A dry run may be killed after any command: its copies expire.
func TestCopiesOfADryRunExpireFromTheirFirstWriteOn(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	looks := redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	t.Cleanup(func() { require.NoError(t, looks.Close()) })
	p := story.PolicyOf(t, "1/minute")
	p.Categories = story.FullPolicy(t).Categories
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Records: true, Rules: story.RulesBy(t, p)})
	require.NoError(t, err)
	at := time.Now().Add(24 * time.Hour)
	request := func(id string, after time.Duration, category string) sendlimit.Request {
		return sendlimit.Request{
			User: "alice", ID: id, At: at.Add(after), Category: category, Shift: true,
			Record: story.RecordOf("generation", "the text of "+id),
		}
	}
	for _, id := range []string{"real", "other"} {
		_, err := timeline.Reserve(t.Context(), request(id, time.Hour, ""))
		require.NoError(t, err)
	}

	seen := make(map[string]bool)
	client.AddHook(afterEach(func() {
		keys, err := looks.Keys(t.Context(), "sl-dry-*").Result()
		require.NoError(t, err)
		for _, key := range keys {
			seen[key] = true
			left, err := looks.PTTL(t.Context(), key).Result()
			require.NoError(t, err)
			require.Positive(t, left, key)
		}
	}))
	dryRun := timeline.StartDryRun(client)
	for i, r := range []sendlimit.Request{
		request("a", 0, ""), request("b", 0, ""), request("a", 0, ""), request("real", time.Hour, ""),
		request("c", time.Hour, ""), request("d", 2*time.Hour, ""),
	} {
		d, err := dryRun.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.True(t, d.Allowed, i)
	}
	for category := range p.Categories {
		d, err := dryRun.Reserve(t.Context(), request("of-"+category, 3*time.Hour, category))
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	require.GreaterOrEqual(t, len(seen), 9, "records, timelines, sets of categories, watch list and the list of copies")
	require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(key string) bool { return strings.Contains(key, ":c:") }))
	require.NoError(t, dryRun.Close(t.Context()))
	require.Empty(t, looks.Keys(t.Context(), "sl-dry-*").Val())
}

// A large timeline is copied in several calls, so that none takes long. All of it counts,
// and what the dry run has accepted meanwhile stays.
func TestADryRunCopiesInSlices(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	timeline, err := sendlimit.NewTimeline(client, sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute"))})
	require.NoError(t, err)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	const places = 2500
	// From noon on, the last day has room: it has fewer places than a day may have.
	at := time.Now().Truncate(24 * time.Hour).Add(36 * time.Hour)
	members := make([]redis.Z, places)
	for n := range members {
		members[n] = redis.Z{Score: float64(at.Add(time.Duration(n) * time.Minute).UnixMilli()), Member: fmt.Sprintf("m%d", n)}
	}
	require.NoError(t, client.ZAdd(t.Context(), keys.Timeline("alice"), members...).Err())

	calls := 0
	client.AddHook(afterEach(func() { calls++ }))
	dryRun := timeline.StartDryRun(client)
	for n, allowed := range map[int]bool{0: false, places - 1: false, places: true} {
		d, err := dryRun.Check(t.Context(), sendlimit.Request{User: "alice", ID: "new", At: at.Add(time.Duration(n) * time.Minute)})
		require.NoError(t, err)
		require.Equal(t, allowed, d.Allowed, n)
	}
	require.GreaterOrEqual(t, calls, 5+3+2, "five slices, and two calls for each later check")
	copied, err := client.Keys(t.Context(), "sl-dry-*:u:alice").Result()
	require.NoError(t, err)
	require.Len(t, copied, 1)
	require.Equal(t, int64(places), client.ZCard(t.Context(), copied[0]).Val())
	require.NoError(t, dryRun.Close(t.Context()))
	require.Empty(t, client.Keys(t.Context(), "sl-dry-*").Val())
}
