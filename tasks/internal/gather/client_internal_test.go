package gather

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// sharing is a client hook that holds the first two commands up until all others wait, and
// notes the round trips of scripts.
type sharing struct {
	release chan struct{}
	alone   atomic.Int32
	shared  atomic.Int32
}

func (s *sharing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sharing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && s.alone.Add(1) <= atOnce {
			<-s.release
		}
		return next(ctx, cmd)
	}
}

func (s *sharing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "evalsha" || name == "eval" { // not the client's own, for a connection
			s.shared.Add(1)
		}
		return next(ctx, cmds)
	}
}

// Concurrent scripts share round trips, and each has its own answer or error. A script that
// the store does not know is sent again as text.
func TestScriptsShareRoundTrips(t *testing.T) {
	t.Parallel()
	_, one := redistest.Embedded(t)
	script := redis.NewScript(`if ARGV[1] == '7' then return redis.error_reply('ERR seven') end return ARGV[1] .. KEYS[1]`)
	hook := &sharing{release: make(chan struct{})}
	one.AddHook(hook)
	c := NewClient(one)
	const callers = 20
	var running sync.WaitGroup
	answers, failures := make([]string, callers), make([]error, callers)
	for i := range callers {
		running.Go(func() {
			answers[i], failures[i] = script.Run(t.Context(), c, []string{"k"}, strconv.Itoa(i)).Text()
		})
	}
	require.Eventually(t, func() bool {
		to, err := c.nodeOf(t.Context(), nil)
		require.NoError(t, err)
		return to.Waiting() == callers-atOnce || hook.shared.Load() > 0 // it took longer than groups may
	}, time.Minute, time.Millisecond)
	close(hook.release)
	running.Wait()
	c.Wait()
	for i := range callers {
		if i == 7 {
			require.EqualError(t, failures[i], "ERR seven")
			continue
		}
		require.NoError(t, failures[i])
		require.Equal(t, strconv.Itoa(i)+"k", answers[i])
	}
	require.Positive(t, hook.shared.Load())
	require.Less(t, int(hook.alone.Load()+hook.shared.Load()), callers)
}

// A single script is sent alone, with the client's own repeats and errors.
func TestASingleScriptIsSentAlone(t *testing.T) {
	t.Parallel()
	_, one := redistest.Embedded(t)
	hook := &sharing{release: make(chan struct{})}
	close(hook.release)
	one.AddHook(hook)
	c := NewClient(one)
	script := redis.NewScript(`return #KEYS`)
	for _, keys := range [][]string{nil, {"a", "b"}} {
		got, err := script.Run(t.Context(), c, keys).Int()
		require.NoError(t, err)
		require.Equal(t, len(keys), got)
	}
	require.Zero(t, hook.shared.Load())
	c.Wait()
}

// The scripts of each master of a cluster have pipelines of their own.
func TestEachMasterHasPipelinesOfItsOwn(t *testing.T) {
	t.Parallel()
	cluster := redistest.RealCluster(t)
	c := NewClient(cluster.Client())
	script := redis.NewScript(`return KEYS[1]`)
	var running sync.WaitGroup
	for i := range 100 {
		running.Go(func() {
			key := "k" + strconv.Itoa(i)
			got, err := script.Run(t.Context(), c, []string{key}).Text()
			if err != nil || got != key {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	running.Wait()
	c.Wait()
	require.Len(t, c.nodes, len(cluster.Addrs()))
	for _, address := range cluster.Addrs() {
		require.Contains(t, c.nodes, address)
	}
}

func TestFewCommandsWaitForANode(t *testing.T) {
	t.Parallel()
	for address, name := range map[string]string{"": "Redis", "10.0.0.1:6379": "Redis at 10.0.0.1:6379"} {
		err := errFull(address)
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(t, away)
		require.EqualError(t, err, "4096 commands wait for "+name+", and no more are at a time: try again in a moment")
	}
}
