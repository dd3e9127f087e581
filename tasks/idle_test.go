package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// late returns how late the last delivery was.
func (s *story) late(due time.Time) time.Duration {
	s.Helper()
	deliveries := s.recorder.Deliveries()
	require.NotEmpty(s, deliveries)
	return deliveries[len(deliveries)-1].At.Sub(due)
}

// storeCalls counts the calls of clients, by the queue's keys and others. A pipeline is one.
type storeCalls struct {
	mu           sync.Mutex
	queue, other int
	sweeps       map[string]int // over all partitions, by kind of list
}

// DialHook does nothing.
func (c *storeCalls) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a call.
func (c *storeCalls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts a pipeline.
func (c *storeCalls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds[0])
		return next(ctx, cmds)
	}
}

func (c *storeCalls) count(cmd redis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprint(cmd.Args()...)
	for kind := range c.sweeps {
		if strings.Contains(text, "{p0000}:"+kind) {
			c.sweeps[kind]++
		}
	}
	if strings.Contains(text, "asynq:") || strings.Contains(text, ":arrivals") {
		c.queue++
	} else {
		c.other++
	}
}

// taken returns the counts since the last call.
func (c *storeCalls) taken() (ofQueue, other int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ofQueue, other = c.queue, c.other
	c.queue, c.other = 0, 0
	return ofQueue, other
}

func TestAnIdleWorkerSeldomCallsTheStore(t *testing.T) {
	tell(t, func(s *story) {
		calls := new(storeCalls)
		s.hook = calls
		s.work(func(o *tasks.WorkerOptions) { o.RelayEvery = 0 })
		s.until(10 * time.Second)
		calls.taken()
		s.until(70 * time.Second)
		ofQueue, other := calls.taken()
		require.LessOrEqual(s, ofQueue, 60*5/2, "a look at the queue every 2 s, one for lanes, a wait of 5 s, and asynq's heartbeat of 3 calls every 5 s")
		require.LessOrEqual(s, other, 60*7, "a look a second, and what the relay reads in all partitions every 5 s")
		s.accepted(s.message("a", 71*time.Second)) // it is at full speed at once
		s.until(71*time.Second + 10*time.Millisecond)
		s.delivered("a +1m11s")
		ofQueue, _ = calls.taken()
		require.Greater(s, ofQueue, 10)
	})
}

// Workers share the looks through all partitions: together they make hardly more than one.
func TestIdleWorkersShareTheirLooks(t *testing.T) {
	tellSlowly(t, func(s *story) {
		calls := &storeCalls{sweeps: map[string]int{"watch": 0, "holds": 0, "notices": 0}}
		s.hook = calls
		const every, span = time.Minute, 12 * time.Minute
		for range 4 {
			s.work(func(o *tasks.WorkerOptions) { o.RelayEvery, o.SweepEvery = every, every })
		}
		s.until(span)
		for kind, n := range calls.sweeps {
			require.GreaterOrEqual(s, n, int(span/every)-1, kind)
			require.LessOrEqual(s, n, int(span*10/7/every)+4, kind)
		}
	})
}

// Messages of another program that are due at once, after the worker had nothing to do for a while.
func TestATaskAfterIdlenessIsTakenAtOnce(t *testing.T) {
	tell(t, func(s *story) {
		s.work()
		for i := range 20 {
			s.until(time.Duration(i+1)*10*time.Second + time.Duration(i)*137*time.Millisecond)
			now := time.Now()
			require.Equal(s, message.Accepted, s.submit(message.Message{User: fmt.Sprint("u", i), SendAt: now, Title: "now"}).Outcome)
			time.Sleep(queue.Polling{}.WithDefaults().Fetch * 3 / 2)
			require.Less(s, s.late(now), queue.Polling{}.WithDefaults().Fetch*3/2)
			require.Len(s, s.recorder.Deliveries(), i+1)
		}
	})
}

// A program of an older version tells no worker of its tasks, and a worker may not be able to wait.
func TestATaskThatNobodyTellsOf(t *testing.T) {
	for _, row := range []struct {
		name    string
		refused bool
		within  time.Duration
	}{
		{"a worker that waits looks every two seconds", false, 2500 * time.Millisecond},
		{"a worker that can't wait asks all the time", true, 150 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			tell(t, func(s *story) {
				if row.refused {
					s.server.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
						if command == "XREAD" {
							c.WriteError("NOPERM this user has no permissions to run the 'xread' command")
						}
						return command == "XREAD"
					})
				}
				s.work()
				s.until(20 * time.Second)
				s.enqueue(queue.TypeDeliver, "{", keyspace.NewToken())
				time.Sleep(row.within)
				require.Zero(s, s.client.LLen(s.Context(), "asynq:{sl:push}:pending").Val())
			})
		})
	}
}

// However many tasks come, the workers are told twice a second.
func TestWorkersAreToldTwiceASecond(t *testing.T) {
	tell(t, func(s *story) {
		told := map[string]bool{}
		for i := range 100 {
			s.accepted(message.Message{User: fmt.Sprint("u", i), SendAt: s.at(time.Hour), Title: "a"})
			entries, err := s.client.XRange(s.Context(), s.keys().Arrivals(), "-", "+").Result()
			require.NoError(s, err)
			require.Len(s, entries, 1, "it does not grow")
			told[entries[0].ID] = true
			time.Sleep(20 * time.Millisecond)
		}
		require.Len(s, told, 4)
	})
}
