package find_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestASweepRemovesWhatIsStale(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	for n := range 40 {
		s.submit(what{user: userOf(n), id: "m", campaign: "c"})
	}
	for n := range 20 {
		s.lose(userOf(n), "m")
	}
	// Submitted anew without a campaign: the entry of the former message is stale, though
	// there is a record.
	s.submit(what{user: userOf(0), id: "m", after: time.Hour})
	require.Equal(t, 2, s.entries(userOf(0), "m"))
	newer := s.keys.IDs(0, 0) // of a program that this one does not know
	require.NoError(t, client.ZAdd(t.Context(), newer, redis.Z{Score: 1, Member: "?"}).Err())
	user := userOf(30) // nobody looks after its message
	entriesOf := func(user string) []redis.Z {
		return client.ZRangeWithScores(t.Context(), s.keys.Far(user, "m"), 0, -1).Val()
	}
	watched := entriesOf(user)
	require.Len(t, watched, 1)
	require.NoError(t, client.Del(t.Context(), s.keys.Far(user, "m")).Err())
	misfiled := userOf(31) // a torn log has the campaign of a replacement, and not its record
	campaigns, member := s.keys.Campaigns(keyspace.Partition(misfiled), 0), keyspace.IndexMember(misfiled, "m")
	require.NoError(t, client.ZAdd(t.Context(), campaigns, redis.Z{Score: float64(keyspace.CampaignScore("", "another")), Member: member}).Err())
	swept, err := s.index.Sweep(t.Context(), s.watch, atOnce)
	require.NoError(t, err)
	require.Equal(t, find.SweepResult{Removed: 1 + 19*2, Refiled: 1, Watched: 1}, swept)
	require.Equal(t, keyspace.CampaignScore("", "c"), int64(client.ZScore(t.Context(), campaigns, member).Val()))
	require.Equal(t, watched, entriesOf(user))
	require.Equal(t, 1, s.entries(userOf(0), "m"))
	for n := 1; n < 40; n++ {
		require.Equal(t, map[bool]int{true: 0, false: 2}[n < 20], s.entries(userOf(n), "m"), userOf(n))
	}
	require.Equal(t, int64(1), client.ZCard(t.Context(), newer).Val(), "it stays")
	swept, err = s.index.Sweep(t.Context(), s.watch, atOnce)
	require.NoError(t, err)
	require.Zero(t, swept)
}

func TestReadersRemoveStaleEntriesThatTheyMeet(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	for _, user := range []string{"alice", "bob"} {
		s.submit(what{user: user, id: "m", campaign: "c"})
		s.lose(user, "m")
	}
	require.Empty(t, s.all(find.Filter{User: "alice"}, 10, nil))
	require.Equal(t, 1, s.entries("alice", "m"), "of the campaign")
	require.Equal(t, 2, s.entries("bob", "m"))
	require.Empty(t, s.all(find.Filter{Campaign: "c"}, 10, nil))
	require.Equal(t, 0, s.entries("alice", "m"))
	require.Equal(t, 1, s.entries("bob", "m"))
}

// The message is accepted anew between the look at its record and the removal of its entry.
func TestForgetSparesAMessageThatCameBack(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	s.submit(what{user: "alice", id: "m", campaign: "c"})
	parts := s.keys.IndexKeys("alice", "m")
	for key, field := range map[string]string{parts[0]: keyspace.RecordGeneration, parts[2]: keyspace.RecordCampaign} {
		reply, err := lua.Forget.Run(t.Context(), client, []string{s.keys.Record("alice", "m"), key, key}, field,
			keyspace.IndexMember("alice", "m")).Slice()
		require.NoError(t, err)
		require.Equal(t, []any{int64(0)}, reply)
	}
	require.Equal(t, 2, s.entries("alice", "m"))
}

// pipelined counts the commands in pipelines.
type pipelined struct{ atomic.Int64 }

func (p *pipelined) onPipeline(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	p.Add(int64(len(cmds)))
	return next(ctx, cmds)
}

// In a store whose partitions have few messages, a page that finds nothing costs at most two commands
// for each partition, not one for each list. Messages are found wherever they are.
func TestAPageOfASmallStoreIsCheap(t *testing.T) {
	t.Parallel()
	for _, users := range []int{20, 900} {
		client := redistest.Real(t).Client()
		s := newStock(t, client, sendlimit.Options{})
		var want []string
		for n := range users {
			w := what{user: userOf(n), id: fmt.Sprint("m", n), campaign: "c", account: "acme", after: time.Duration(n) * time.Minute}
			s.submit(w)
			want = append(want, w.user+" "+w.id)
		}
		slices.Sort(want)
		commands := &pipelined{}
		client.AddHook(redistest.Pipelines(commands.onPipeline))
		for _, wanted := range []find.Filter{{}, {Campaign: "c"}} {
			found := s.all(wanted, 1000, nil)
			slices.Sort(found)
			require.Equal(t, want, found)
			wanted.UserPrefix = "nobody"
			commands.Store(0)
			require.Empty(t, s.all(wanted, 1000, nil))
			require.Less(t, commands.Load(), int64(2*keyspace.Partitions), "%+v", wanted)
		}
	}
}
