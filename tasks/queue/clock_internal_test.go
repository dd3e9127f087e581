package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Only the times of the calls that compare or store one are replaced, and never in the
// arguments of the caller.
func TestReplacedTimes(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	local := time.Date(2026, time.November, 22, 11, 0, 0, 500e6, time.UTC)
	machine := func() time.Time { return local }
	clock := &storeclock.Clock{Local: machine, Wall: machine}
	clock.Learn(local, local, local.Add(time.Hour))
	byStore := newByStoreClock(client, clock)

	const source = "return ARGV"
	script := redis.NewScript(source)
	require.NoError(t, script.Load(t.Context(), client).Err())
	now, later := local.Unix(), local.Add(time.Hour)
	for _, row := range []struct {
		why      string
		keys     []string
		at, want []any
	}{
		{"forward scheduled tasks", []string{"asynq:{q}:scheduled", "asynq:{q}:pending"}, []any{now, "p", local.UnixNano(), "g"}, []any{later.Unix(), "p", later.UnixNano(), "g"}},
		{"forward tasks that come again", []string{"asynq:{q}:retry", "asynq:{q}:pending"}, []any{now, "p", local.UnixNano(), "g"}, []any{later.Unix(), "p", later.UnixNano(), "g"}},
		{"take a task", []string{"asynq:{q}:pending", "asynq:{q}:paused", "asynq:{q}:active", "asynq:{q}:lease"}, []any{now + 30, "p"}, []any{later.Unix() + 30, "p"}},
		{"list expired leases", []string{"asynq:{q}:lease"}, []any{now, "p"}, []any{later.Unix(), "p"}},
		{"run all tasks", []string{"asynq:{q}:retry", "asynq:{q}:pending"}, []any{"p", "g"}, []any{"p", "g"}},
		{"schedule a task", []string{"asynq:{q}:t:1", "asynq:{q}:scheduled"}, []any{"m", now, "1"}, []any{"m", now, "1"}},
		{"a key of others", []string{"other:{q}:lease"}, []any{now}, []any{now}},
	} {
		given := append([]any{}, row.at...)
		want := make([]string, len(row.want))
		for i, w := range row.want {
			want[i] = fmt.Sprint(w)
		}
		for _, run := range []func() *redis.Cmd{
			func() *redis.Cmd { return byStore.EvalSha(t.Context(), script.Hash(), row.keys, given...) },
			func() *redis.Cmd { return byStore.Eval(t.Context(), source, row.keys, given...) },
		} {
			got, err := run().StringSlice()
			require.NoError(t, err)
			require.Equal(t, want, got, row.why)
			require.Equal(t, row.at, given, row.why)
		}
	}

	for key, want := range map[string]time.Time{"asynq:{q}:lease": later.Truncate(time.Second), "asynq:{q}:other": local.Truncate(time.Second)} {
		require.NoError(t, client.ZAdd(t.Context(), key, redis.Z{Member: "a"}).Err())
		require.NoError(t, byStore.ZAddXX(t.Context(), key, redis.Z{Member: "a", Score: float64(now)}).Err())
		score, err := client.ZScore(t.Context(), key, "a").Result()
		require.NoError(t, err)
		require.Equal(t, want.Unix(), int64(score), key)
	}
}
