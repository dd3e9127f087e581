package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/forecast"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// partitions is how many partitions have a message in these tests, and so how many calls of
// the script a count takes.
const partitions = 16

// costs is a client hook that answers what a count asks the store, and makes each call of the
// script take its time, by the clock of the store and of the caller. Turns and what is kept
// are in the store.
type costs struct {
	server      *miniredis.Miniredis
	keys        keyspace.Keys
	near, later time.Duration // of a call
	clock       time.Time
	calls       struct{ near, later int }
	during      func()                // may be nil
	dies        func(later bool) bool // whether the caller dies during a call; may be nil
	dead        bool
}

var errDead = errors.New("the caller is dead")

func (c *costs) now() time.Time { return c.clock }

func (c *costs) pass(d time.Duration) {
	c.clock = c.clock.Add(d)
	c.server.FastForward(d)
	c.server.SetTime(c.clock)
}

func (c *costs) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *costs) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.dead {
			return errDead
		}
		if c.answer(cmd) {
			return nil
		}
		return next(ctx, cmd)
	}
}

func (c *costs) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		if c.dead {
			return errDead
		}
		for _, cmd := range cmds {
			c.answer(cmd)
		}
		return nil
	}
}

// answer answers a command of a count.
func (c *costs) answer(cmd redis.Cmder) bool {
	switch args := cmd.Args(); cmd := cmd.(type) {
	case *redis.IntCmd:
		if cmd.Name() != "exists" {
			return false
		}
		if first := args[1]; len(args) > 2 && fmt.Sprint(first) < c.keys.FarOf(partitions, 0) {
			cmd.SetVal(1)
		}
	case *redis.Cmd:
		cmd.SetVal([]any{int64(0), int64(0), int64(200), []any{}, []any{}, int64(0)})
		c.count(args[len(args)-1] == "") // the end of the span
	default:
		return false
	}
	return true
}

func (c *costs) count(later bool) {
	if later {
		c.calls.later++
		c.pass(c.later)
	} else {
		c.calls.near++
		c.pass(c.near)
	}
	if c.during != nil {
		c.during()
	}
	c.dead = c.dies != nil && c.dies(later)
}

// pacedCallers are two callers of Keep, the first one with costs.
func pacedCallers(t *testing.T, near, later time.Duration) (c *costs, first, second *forecast.Forecasts) {
	t.Helper()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("12:00"))
	o := options(t, "1/minute")
	second = newForecasts(t, client, o)
	c = &costs{server: server, keys: story.KeysOf(o), near: near / partitions, later: later / partitions, clock: story.At("12:00")}
	hooked := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, hooked.Close()) })
	hooked.AddHook(c)
	first = newForecasts(t, hooked, o)
	first.SetLocal(c.now)
	return c, first, second
}

// However long the parts take, each one rests as long as it should and no longer than until
// the next call, and both together take less than 0.5 % of the time.
func TestEachPartHasItsPace(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, cost := range [][2]time.Duration{
		{160 * time.Microsecond, 160 * time.Microsecond},
		{16 * time.Millisecond, 96 * time.Millisecond},
		{96 * time.Millisecond, 1120 * time.Millisecond},
		{800 * time.Millisecond, 16 * time.Second},
		{8 * time.Second, 80 * time.Second},
		{16 * time.Second, 160 * time.Microsecond},
	} {
		near, later := cost[0], cost[1]
		c, f, _ := pacedCallers(t, near, later)
		nearRest, laterRest := forecast.NearRest(near), forecast.LaterRest(later)
		require.True(t, keep(t, f))
		require.Equal(t, partitions, c.calls.near)
		require.Equal(t, partitions, c.calls.later)
		began, laterEnd := c.clock, c.clock
		var spent time.Duration
		for c.calls.later < 5*partitions {
			require.Equal(t, nearRest, c.server.TTL(c.keys.ForecastTurn()), cost)
			c.pass(nearRest - time.Millisecond)
			require.False(t, keep(t, f), "it is too early")
			c.pass(time.Millisecond)
			before, at := c.calls, c.clock
			require.True(t, keep(t, f))
			spent += c.clock.Sub(at)
			require.Equal(t, partitions, c.calls.near-before.near)
			rested := at.Add(near).Sub(laterEnd)
			if c.calls.later == before.later {
				require.Less(t, rested, laterRest, cost)
				continue
			}
			require.Equal(t, partitions, c.calls.later-before.later)
			require.GreaterOrEqual(t, rested, laterRest, cost)
			require.LessOrEqual(t, rested, laterRest+nearRest+near, cost)
			laterEnd = c.clock
		}
		share := float64(spent) / float64(c.clock.Sub(began))
		require.Less(t, share, 0.005, cost)
	}
}

// While somebody counts, however long it takes, nobody else does.
func TestOneCountsAtATime(t *testing.T) {
	t.Parallel()
	c, first, second := pacedCallers(t, 80*time.Second, 80*time.Second)
	c.during = func() { require.False(t, keep(t, second)) }
	require.True(t, keep(t, first))
	require.Equal(t, 2*partitions, c.calls.near+c.calls.later)
	require.False(t, keep(t, second))
}

// A caller that dies while it counts is replaced within a minute. What it stored stays.
func TestACallerThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	for _, inLater := range []bool{false, true} {
		c, first, second := pacedCallers(t, time.Second, time.Second)
		c.dies = func(later bool) bool { return later == inLater && c.calls.near+c.calls.later > 10 }
		kept, err := first.Keep(t.Context(), time.Time{})
		require.Error(t, err)
		require.Equal(t, inLater, kept)
		_, ok, err := second.Latest(t.Context())
		require.NoError(t, err)
		require.Equal(t, inLater, ok)
		require.False(t, keep(t, second))
		require.LessOrEqual(t, c.server.TTL(c.keys.ForecastTurn()), time.Minute)
		c.pass(time.Minute)
		require.True(t, keep(t, second))
		got := latest(t, second)
		require.Equal(t, got.At, got.HeatAt)
	}
}
