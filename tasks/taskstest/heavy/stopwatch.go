package heavy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Stopwatch is a client hook that measures the processor time of the server in each
// script call. Other load on the machine counts little.
type Stopwatch struct {
	scriptHook

	server  *redis.Client
	slowest time.Duration
}

// NewStopwatch returns a stopwatch for a client of a server that nobody else uses.
func NewStopwatch(server *redis.Client) *Stopwatch {
	w := &Stopwatch{server: server}
	w.look = w.measure
	return w
}

// SlowestOf returns how long the slowest script call of an operation ran.
func (w *Stopwatch) SlowestOf(do func() error) (time.Duration, error) {
	w.slowest = 0
	err := do()
	return w.slowest, err
}

func (w *Stopwatch) measure(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if cmd.Name() != "evalsha" && cmd.Name() != "eval" {
		return next(ctx, cmd)
	}
	before, err := w.used(ctx)
	if err != nil {
		return err
	}
	failed := next(ctx, cmd)
	after, err := w.used(ctx)
	w.slowest = max(w.slowest, after-before)
	return errors.Join(failed, err)
}

// used returns the processor time that the server has used.
func (w *Stopwatch) used(ctx context.Context) (time.Duration, error) {
	info, err := w.server.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	used := 0.0
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return 0, fmt.Errorf("processor time: %w", err)
		}
		used += seconds
	}
	return time.Duration(used * float64(time.Second)), nil
}
