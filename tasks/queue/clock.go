package queue

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// byStoreClock is a client for asynq that replaces the machine's time by the store's: asynq has no
// option for its clock. A worker with a slow clock would start tasks late, one with a fast clock
// too early, and each would take running tasks from the other. The calls with replaced times:
//
//   - forward, which moves due tasks to the waiting ones;
//   - the leases of running tasks: taken, extended, and found expired.
//
// These calls are recognized by their keys; all others are unchanged. The times of tasks are the
// store's already. The queue adds the Skew of the clock to the delay of a retried task.
type byStoreClock struct {
	redis.UniversalClient

	clock *storeclock.Clock
}

func newByStoreClock(client redis.UniversalClient, clock *storeclock.Clock) *byStoreClock {
	return &byStoreClock{UniversalClient: client, clock: clock}
}

// EvalSha runs a script with the store's times in place of the machine's.
func (c *byStoreClock) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.EvalSha(ctx, hash, keys, c.byStore(keys, args)...)
}

// Eval is EvalSha for a script that the store does not know yet.
func (c *byStoreClock) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.Eval(ctx, source, keys, c.byStore(keys, args)...)
}

// ZAddXX calls the client's ZAddXX, with the store's times for leases.
func (c *byStoreClock) ZAddXX(ctx context.Context, key string, members ...redis.Z) *redis.IntCmd {
	if kind(key) == "lease" {
		skew := c.skewSeconds()
		members = slices.Clone(members)
		for i := range members {
			members[i].Score += float64(skew)
		}
	}
	return c.UniversalClient.ZAddXX(ctx, key, members...)
}

// byStore returns the arguments of a script of asynq with the store's times.
func (c *byStoreClock) byStore(keys []string, args []any) []any {
	kinds := make([]string, len(keys))
	for i, key := range keys {
		kinds[i] = kind(key)
	}
	switch strings.Join(kinds, " ") {
	case "scheduled pending", "retry pending":
		// Forward has the present time in seconds, a prefix, and the time in nanoseconds.
		if len(args) < 3 || !areTimes(args[0], args[2]) {
			return args
		}
		args = slices.Clone(args)
		now := c.clock.Now()
		args[0], args[2] = now.Unix(), now.UnixNano()
	case "pending paused active lease", "lease":
		// Dequeue has the end of the lease, and the list of expired leases the latest end, in seconds.
		if len(args) == 0 || !areTimes(args[0]) {
			return args
		}
		args = slices.Clone(args)
		args[0] = args[0].(int64) + c.skewSeconds() //nolint:forcetypeassert // areTimes
	}
	return args
}

func areTimes(args ...any) bool {
	return !slices.ContainsFunc(args, func(arg any) bool {
		_, ok := arg.(int64)
		return !ok
	})
}

// kind returns the kind of a key of asynq, "asynq:{queue}:kind"; "" for any other key.
func kind(key string) string {
	_, kind, ok := strings.Cut(key, "}:")
	if !ok || !strings.HasPrefix(key, "asynq:{") {
		return ""
	}
	return kind
}

// skewSeconds is the skew in whole seconds: leases need no finer one.
func (c *byStoreClock) skewSeconds() int64 {
	return int64(c.clock.Skew().Round(time.Second) / time.Second)
}
