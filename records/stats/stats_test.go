package stats_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/stats"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestStatsOfAnAccountsDays(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	daily, err := stats.New(client, "")
	require.NoError(t, err)
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	require.NoError(t, err)
	daily.Sent("shop", kolkata, story.At("18:29:59.999"), false)
	daily.Sent("shop", kolkata, story.At("18:30"), true)
	daily.Dropped("shop", kolkata, story.At("18:30"))
	daily.Accepted("shop", kolkata, story.At("18:31"))
	daily.Refused("shop", kolkata, story.At("18:31"), "5/hour")
	daily.Refused("shop", kolkata, story.At("18:31"), "quota_exceeded")
	daily.Sent("other", nil, story.At("18:30"), false)
	require.NoError(t, daily.Flush(t.Context()))
	daily.Sent("shop", kolkata, story.At("18:32"), false)
	for range 2 {
		require.NoError(t, daily.Flush(t.Context()))
	}
	for _, day := range []struct {
		starts string
		want   stats.Day
	}{
		{"21 18:30", stats.Day{Sent: 1}},
		{"22 18:30", stats.Day{
			Sent: 2, Late: 1, Dropped: 1, Accepted: 1, Refused: map[string]int64{"5/hour": 1, "quota_exceeded": 1},
		}},
	} {
		got, err := daily.Read(t.Context(), "shop", story.At(day.starts))
		require.NoError(t, err)
		require.Equal(t, day.want, got)
	}
	require.Equal(t, stats.Kept+6*time.Hour+30*time.Minute, server.TTL(story.KeysOf(sendlimit.Options{}).Stats("shop", story.At("22 18:30").UnixMilli())))
	var nobody *stats.Stats
	nobody.Sent("shop", nil, story.At("12:00"), false)
	require.NoError(t, nobody.Flush(t.Context()))
}

// Numbers whose answer was lost are not counted twice.
func TestNumbersWithoutAReplyCountOnce(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	require.NoError(t, lua.AddOnce.Load(t.Context(), client).Err())
	deaf := redis.NewClient(client.Options())
	t.Cleanup(func() { require.NoError(t, deaf.Close()) })
	hook := &dropReply{script: lua.AddOnce}
	deaf.AddHook(hook)
	stats, err := stats.New(deaf, "")
	require.NoError(t, err)
	stats.Sent("shop", nil, story.At("12:00"), false)
	require.ErrorIs(t, stats.Flush(t.Context()), errDeaf)
	stats.Sent("shop", nil, story.At("12:00"), false)
	require.NoError(t, stats.Flush(t.Context()))
	got, err := stats.Read(t.Context(), "shop", story.At("00:00"))
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Sent)
}

// dropReply is a client hook that loses the first answer of a script.
type dropReply struct {
	script *redis.Script
	lost   bool
}

func (d *dropReply) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *dropReply) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dropReply) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); err == nil && !d.lost && len(args) > 1 && args[1] == d.script.Hash() {
			d.lost = true
			cmd.SetErr(errDeaf)
			return errDeaf
		}
		return err
	}
}

var errDeaf = errors.New("no answer")

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
