package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/forecast"
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
	near, later time.Duration         // of a call
	during      func()                // may be nil
	dies        func(later bool) bool // whether the caller dies during a call; may be nil
	dead        atomic.Bool

	mu    sync.Mutex // a look counts beside its caller
	clock time.Time
	calls calls
}

// calls are calls of the script, by the part of a count.
type calls struct{ near, later int }

// counted returns the calls up to now.
func (c *costs) counted() calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

var errDead = errors.New("the caller is dead")

func (c *costs) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock
}

func (c *costs) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock = c.clock.Add(d)
	c.server.FastForward(d)
	c.server.SetTime(c.clock)
}

func (c *costs) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *costs) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.dead.Load() {
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
		if c.dead.Load() {
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
	took := c.near
	c.mu.Lock()
	if later {
		c.calls.later++
		took = c.later
	} else {
		c.calls.near++
	}
	c.mu.Unlock()
	c.pass(took)
	if c.during != nil {
		c.during()
	}
	c.dead.Store(c.dies != nil && c.dies(later))
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
		require.Equal(t, partitions, c.counted().near)
		require.Equal(t, partitions, c.counted().later)
		began, laterEnd := c.now(), c.now()
		var spent time.Duration
		for c.counted().later < 5*partitions {
			require.Equal(t, nearRest, c.server.TTL(c.keys.Turn(keyspace.WorkForecast)), cost)
			c.pass(nearRest - time.Millisecond)
			require.False(t, keep(t, f), "it is too early")
			c.pass(time.Millisecond)
			before, at := c.counted(), c.now()
			require.True(t, keep(t, f))
			spent += c.now().Sub(at)
			require.Equal(t, partitions, c.counted().near-before.near)
			rested := at.Add(near).Sub(laterEnd)
			if c.counted().later == before.later {
				require.Less(t, rested, laterRest, cost)
				continue
			}
			require.Equal(t, partitions, c.counted().later-before.later)
			require.GreaterOrEqual(t, rested, laterRest, cost)
			require.LessOrEqual(t, rested, laterRest+nearRest+near, cost)
			laterEnd = c.now()
		}
		share := float64(spent) / float64(c.now().Sub(began))
		require.Less(t, share, 0.005, cost)
	}
}

// While somebody counts, however long it takes, nobody else does.
func TestOneCountsAtATime(t *testing.T) {
	t.Parallel()
	c, first, second := pacedCallers(t, 80*time.Second, 80*time.Second)
	c.during = func() { require.False(t, keep(t, second)) }
	require.True(t, keep(t, first))
	require.Equal(t, 2*partitions, c.counted().near+c.counted().later)
	require.False(t, keep(t, second))
}

// A caller that dies while it counts is replaced within a minute. What it stored stays.
func TestACallerThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	for _, inLater := range []bool{false, true} {
		c, first, second := pacedCallers(t, time.Second, time.Second)
		c.dies = func(later bool) bool { n := c.counted(); return later == inLater && n.near+n.later > 10 }
		kept, err := first.Keep(t.Context(), time.Time{})
		require.Error(t, err)
		require.Equal(t, inLater, kept)
		_, ok, err := second.Latest(t.Context())
		require.NoError(t, err)
		require.Equal(t, inLater, ok)
		require.False(t, keep(t, second))
		require.LessOrEqual(t, c.server.TTL(c.keys.Turn(keyspace.WorkForecast)), time.Minute)
		c.pass(time.Minute)
		require.True(t, keep(t, second))
		got := latest(t, second)
		require.Equal(t, got.At, got.HeatAt)
	}
}
