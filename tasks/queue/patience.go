package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// patient is the client of a store for a server of asynq. asynq waits before it looks for a
// task again if there was none, but not if the store did not answer. A master of a cluster
// that is known to be away refuses at once: asynq would ask it again and again, as fast as
// the processor allows.
type patient struct {
	redis.UniversalClient

	pause time.Duration // after a failure to take a task
}

// EvalSha runs a script. If it was to take a task and failed, EvalSha pauses.
func (p patient) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	cmd := p.UniversalClient.EvalSha(ctx, hash, keys, args...)
	if err := cmd.Err(); err != nil && takesTask(keys) && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		pause := time.NewTimer(p.pause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return cmd
}

// takesTask reports whether a script with these keys is the one by which asynq takes a task
// from a queue.
func takesTask(keys []string) bool {
	return len(keys) > 1 && strings.HasSuffix(keys[0], "}:pending") && strings.HasSuffix(keys[1], "}:paused")
}
