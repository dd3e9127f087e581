package messages_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// However many late messages of another class wait for their places, or are late again at
// them, a claim reads few records, and finds the younger one of its class that waits.
func TestAClaimReadsFewRecordsOfAnotherClass(t *testing.T) {
	t.Parallel()
	const others, fewest = 900, 5
	client := redistest.Real(t).Client()
	now := story.At("12:00")
	rules := story.RulesBy(t, addCategory(t, story.PolicyOf(t, "1000/hour"), "news", "1/hour"))
	gate, err := messages.NewGate(client, sendlimit.Options{Records: true, Rules: rules})
	require.NoError(t, err)
	keys := story.KeysOf(sendlimit.Options{})
	for user, c := range map[string]struct{ othersPromised, othersAt, promised, at time.Duration }{
		"late, promised after the others":  {-2 * time.Hour, time.Hour, -time.Hour, -time.Minute},
		"late, promised before the others": {-2 * time.Hour, time.Hour, -3 * time.Hour, -time.Minute},
		"on time, and others are late":     {-2 * time.Hour, -time.Minute, -time.Hour, 0},
	} {
		wait := func(id, category string, promised, at time.Duration) {
			place := redis.Z{Score: float64(now.Add(at).UnixMilli()), Member: id}
			record := []any{"g", "g-" + id, "t", now.Add(at).UnixMilli(), "p", now.Add(promised).UnixMilli()}
			member := id
			if category != "" {
				record, member = append(record, "k", category), id+" "+category
				require.NoError(t, client.ZAdd(t.Context(), keys.Category(user, category), place).Err())
			}
			require.NoError(t, client.HSet(t.Context(), keys.Record(user, id), record...).Err())
			require.NoError(t, client.ZAdd(t.Context(), keys.Timeline(user), place).Err())
			waits := redis.Z{Score: float64(now.Add(promised).UnixMilli()), Member: member}
			require.NoError(t, client.ZAdd(t.Context(), keys.Waiting(user), waits).Err())
		}
		for i := range others {
			wait(fmt.Sprint("m", i), "", c.othersPromised+time.Duration(i), c.othersAt+time.Duration(i))
		}
		wait("claimed", "news", c.promised, c.at)
		wait("younger", "news", -time.Second, time.Minute)
		require.NoError(t, client.ConfigResetStat(t.Context()).Err())
		claim, err := gate.Claim(t.Context(), messages.Delivery{
			User: user, ID: "claimed", Generation: "g-claimed", Nonce: "n1",
		}, time.Minute, now)
		require.NoError(t, err)
		require.Equal(t, messages.Send, claim.Verdict, user)
		info, err := client.InfoMap(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		var records int
		_, err = fmt.Sscanf(info["Commandstats"]["cmdstat_hmget"], "calls=%d", &records)
		require.NoError(t, err)
		require.LessOrEqual(t, records, fewest, user)
	}
}
