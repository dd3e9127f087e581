package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/tasks"
)

// roundTrips is a client hook that counts the round trips with a claim, a settlement or a hold,
// and their scripts. Each takes a while.
type roundTrips struct {
	takes time.Duration
	cut   func(scripts int) bool // whether the connection is cut in the middle of the replies

	mu      sync.Mutex
	trips   map[string]int // by script
	scripts map[string]int
}

func countRoundTrips() *roundTrips {
	return &roundTrips{takes: 5 * time.Millisecond, trips: make(map[string]int), scripts: make(map[string]int)}
}

// count counts a round trip, and returns how many of these scripts it has.
func (r *roundTrips) count(cmds ...redis.Cmder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, inAll := map[string]int{}, 0
	for _, cmd := range cmds {
		if args := cmd.Args(); len(args) > 1 {
			switch args[1] {
			case lua.Claim.Hash():
				names["claim"]++
			case lua.Settle.Hash():
				names["settle"]++
			case lua.Hold.Hash():
				names["hold"]++
			}
		}
	}
	for name, n := range names {
		r.trips[name]++
		r.scripts[name] += n
		inAll += n
	}
	return inAll
}

func (r *roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.count(cmd) > 0 {
			time.Sleep(r.takes)
		}
		return next(ctx, cmd)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		scripts := r.count(cmds...)
		if scripts == 0 {
			return next(ctx, cmds)
		}
		time.Sleep(r.takes)
		if r.cut == nil || !r.cut(scripts) {
			return next(ctx, cmds)
		}
		// The store has done what was asked for, or all but the last.
		err := next(ctx, cmds[:len(cmds)-1])
		for _, cmd := range cmds[len(cmds)/2:] {
			cmd.SetErr(io.EOF)
		}
		return errors.Join(err, io.EOF)
	}
}

// Claims of messages that are due together share round trips, and so do settlements of those
// that end together.
func TestConcurrentDeliveriesShareRoundTrips(t *testing.T) {
	tell(t, func(s *story) {
		require.NoError(s, lua.Claim.Load(s.Context(), s.client).Err())
		require.NoError(s, lua.Settle.Load(s.Context(), s.client).Err())
		const messages = 32 // one task
		trips := countRoundTrips()
		s.hook = trips
		s.work()
		s.many(messages, 5*time.Second)
		s.until(8 * time.Second)
		require.Len(s, s.sentAt(), messages)
		require.Equal(s, map[string]int{"claim": messages, "settle": messages}, trips.scripts)
		// Up to two pipelines with the first of them go while nothing else waits, then two with
		// the rest.
		require.LessOrEqual(s, trips.trips["claim"], 4)
		require.LessOrEqual(s, trips.trips["settle"], 4)
	})
}

// A connection that is cut in the middle of a pipeline loses no message, and sends none twice.
func TestACutPipelineLosesNothing(t *testing.T) {
	tell(t, func(s *story) {
		require.NoError(s, lua.Claim.Load(s.Context(), s.client).Err())
		require.NoError(s, lua.Settle.Load(s.Context(), s.client).Err())
		trips, cuts := countRoundTrips(), 0
		var counting sync.Mutex
		trips.cut = func(scripts int) bool {
			counting.Lock()
			defer counting.Unlock()
			cuts++
			return scripts > 1 && cuts <= 6
		}
		s.hook = trips
		s.work(func(o *tasks.WorkerOptions) { o.Tolerance = time.Minute })
		due := s.crowd(64, time.Millisecond)
		s.until(time.Minute)
		require.GreaterOrEqual(s, cuts, 6)
		s.deliveredOnce(due)
		for i := range len(due) {
			require.Equal(s, 1, s.recorderAttempts(fmt.Sprintf("user-%d", i)))
		}
		require.Zero(s, s.queued())
	})
}

// recorderAttempts returns the attempt of the last delivery to a user.
func (s *story) recorderAttempts(user string) int {
	attempt := 0
	for _, d := range s.recorder.Deliveries() {
		if d.Notification.User == user {
			attempt = d.Notification.Attempt
		}
	}
	return attempt
}
