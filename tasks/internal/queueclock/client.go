package queueclock

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Client is the client of a store for asynq, which goes by the store's clock through it.
type Client struct {
	redis.UniversalClient

	clock *storeclock.Clock
}

// New returns a Client that reads the store's time from clock.
func New(client redis.UniversalClient, clock *storeclock.Clock) *Client {
	return &Client{UniversalClient: client, clock: clock}
}

// EvalSha runs a script with the store's times in place of the machine's.
func (c *Client) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.EvalSha(ctx, hash, keys, c.byStore(keys, args)...)
}

// Eval is EvalSha for a script that the store does not know yet.
func (c *Client) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return c.UniversalClient.Eval(ctx, source, keys, c.byStore(keys, args)...)
}

// ZAddXX changes scores of entries that exist. Those of leases become the store's times.
func (c *Client) ZAddXX(ctx context.Context, key string, members ...redis.Z) *redis.IntCmd {
	if kind(key) == "lease" {
		skew := c.skewSeconds()
		members = slices.Clone(members)
		for i := range members {
			members[i].Score += float64(skew)
		}
	}
	return c.UniversalClient.ZAddXX(ctx, key, members...)
}

// byStore returns the arguments of a script of asynq with the store's times. The caller's
// are as they were.
func (c *Client) byStore(keys []string, args []any) []any {
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
		// Dequeue has when the lease ends, the list of expired leases until when, both in
		// seconds.
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

// kind returns what asynq keeps in a key, which is "asynq:{queue}:kind"; "" for any other.
func kind(key string) string {
	_, kind, ok := strings.Cut(key, "}:")
	if !ok || !strings.HasPrefix(key, "asynq:{") {
		return ""
	}
	return kind
}

// skewSeconds is the skew in whole seconds: leases last for many.
func (c *Client) skewSeconds() int64 { return int64(c.clock.Skew().Round(time.Second) / time.Second) }
