package turn

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Turns are the turns of the programs on a store.
type Turns struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// New returns the turns of a store.
func New(client redis.Cmdable, keys keyspace.Keys) *Turns { return &Turns{client: client, keys: keys} }

// Take takes the turn of a work, and reports whether the caller has it: nobody took it within lasts. A
// turn that lasts longer than lasts was given before the clock stepped, and is ignored.
func (t *Turns) Take(ctx context.Context, of keyspace.Work, lasts time.Duration) (bool, error) {
	const doing = "taking a turn"
	return script.Yes(script.Call(ctx, t.client, lua.TurnTake, doing, []string{t.keys.Turn(of)}, []any{"", lasts.Milliseconds()}))
}

// Taken reports whether another program does work that each repeats every so often. Otherwise the
// caller has the turn, or can't ask: the node of the turns may be away while others answer.
func (t *Turns) Taken(ctx context.Context, of keyspace.Work, every time.Duration) bool {
	// A turn is shorter than the least time between two runs, see package job.
	mine, err := t.Take(ctx, of, max(every*7/10, time.Millisecond))
	return err == nil && !mine
}

// InTurn does work unless a program did it within every. If the work fails, the next caller gets the
// turn.
func (t *Turns) InTurn(ctx context.Context, of keyspace.Work, every time.Duration, work func() error) error {
	mine, err := t.Take(ctx, of, every)
	if err != nil || !mine {
		return err
	}
	if err = work(); err != nil {
		given := t.client.Del(ctx, t.keys.Turn(of)).Err()
		return errors.Join(err, store.Explain(given, "giving a turn back"))
	}
	return nil
}
