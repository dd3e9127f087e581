package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// patient is a client for an asynq server that pauses after failures. asynq pauses if there was no
// task, but not if the store did not answer. Calls to a cluster's master that is known to be down
// fail at once, so asynq would repeat them as fast as the processor allows.
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

// takesTask reports whether these are the keys of asynq's script that takes a task from a queue.
func takesTask(keys []string) bool {
	return len(keys) > 1 && strings.HasSuffix(keys[0], "}:pending") && strings.HasSuffix(keys[1], "}:paused")
}
