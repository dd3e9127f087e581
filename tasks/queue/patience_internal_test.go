package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// answers is a client whose scripts have one answer, at once.
type answers struct {
	redis.UniversalClient

	err error
}

func (a answers) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(a.err)
	return cmd
}

// noScript is the answer to a script that the server does not know.
type noScript struct{ error }

func (noScript) RedisError() {}

// asynq asks for the next task as soon as it has an answer. An error at once would keep a
// processor busy for as long as a store is away.
func TestAServerDoesNotHurryAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	take, forward := []string{"asynq:{q}:pending", "asynq:{q}:paused", "asynq:{q}:active", "asynq:{q}:lease"}, []string{"asynq:{q}:scheduled", "asynq:{q}:pending"}
	for _, row := range []struct {
		what string
		keys []string
		err  error
		want time.Duration
	}{
		{"the master is away", take, &store.NodeAwayError{Address: "192.0.2.1:6379"}, time.Minute},
		{"it gets no other call then", forward, &store.NodeAwayError{Address: "192.0.2.1:6379"}, 0},
		{"a task is taken", take, nil, 0},
		{"asynq waits itself", take, redis.Nil, 0},
		{"the script is sent next", take, noScript{errors.New("NOSCRIPT No matching script")}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, began := patient{answers{err: row.err}, time.Minute}, time.Now()
			require.Equal(t, row.err, client.EvalSha(t.Context(), "", row.keys).Err(), row.what)
			require.Equal(t, row.want, time.Since(began), row.what)
		})
	}
}
