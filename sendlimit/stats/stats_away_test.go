package stats_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/sendlimit/stats"
)

// The node of one account is away: the numbers of the others are written, and its own are
// when it is back.
func TestAnAccountWhoseNodeIsAwayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	hook := &awayKeys{with: keys.Partitions[keyspace.Partition("away")]}
	client.AddHook(hook)
	numbers, err := stats.New(client, "")
	require.NoError(t, err)
	accounts := []string{"a", "away", "b", "c", "d"}
	for _, account := range accounts {
		numbers.Sent(account, nil, story.At("12:00"), false)
	}
	sent := func(account string) int64 {
		got, err := numbers.Read(t.Context(), account, story.At("00:00"))
		require.NoError(t, err)
		return got.Sent
	}
	for range 2 {
		require.ErrorIs(t, numbers.Flush(t.Context()), errDeaf)
		for _, account := range []string{"a", "b", "c", "d"} {
			require.EqualValues(t, 1, sent(account), account)
		}
	}
	hook.with = "none"
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, numbers.Flush(ended), context.Canceled)
	require.Zero(t, sent("away"))
	require.NoError(t, numbers.Flush(t.Context()))
	for _, account := range accounts {
		require.EqualValues(t, 1, sent(account), account)
	}
}

// awayKeys fails the commands on the keys of a partition.
type awayKeys struct{ with string }

func (a *awayKeys) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (a *awayKeys) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a *awayKeys) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		for _, word := range cmd.Args() {
			if text, ok := word.(string); ok && strings.HasPrefix(text, a.with) {
				cmd.SetErr(errDeaf)
				return errDeaf
			}
		}
		return next(ctx, cmd)
	}
}
