package refit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Turn is the turn of going, partition by partition, through what does not
// fit a policy and doing something with it. One at a time has it, and whoever has
// it next for the same version of the policy and the same action goes on where it
// ended, however it did. Its methods return an *UnavailableError when the store
// did not answer.
type Turn struct {
	client  redis.Scripter
	key     string
	owner   string
	version int64
	action  string
}

// NewTurn returns a turn that is not taken yet, for a policy as the store has
// it, under a prefix, "" for DefaultPrefix. What the action is called is up to the
// caller. The error is an *InvalidError.
func NewTurn(client redis.Scripter, prefix string, p policy.Policy, action string) (*Turn, error) {
	keys, err := keyspace.NewKeys(prefix)
	if err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Turn{client: client, key: keys.Refit(p.Name), owner: keyspace.NewToken(), version: p.Version, action: action}, nil
}

// Progress is how far a refit has come.
type Progress struct {
	Next int // the next partition
	// Notes are the caller's own, for whoever has the turn next.
	Notes string
}

// Take takes the turn for so long unless it is kept, and returns where to go on. Where
// somebody else has it, it returns for how long at least.
func (t *Turn) Take(ctx context.Context, lasts time.Duration) (at Progress, taken bool, wait time.Duration, err error) {
	return t.call(ctx, lasts, "", "")
}

// Keep keeps the turn for so long from now on, and notes how far it has come. It returns
// false where somebody else has it by now.
func (t *Turn) Keep(ctx context.Context, at Progress, lasts time.Duration) (kept bool, err error) {
	_, kept, _, err = t.call(ctx, lasts, strconv.Itoa(at.Next), at.Notes)
	return kept, err
}

// GiveBack ends the turn before its time: whoever is next goes on there.
func (t *Turn) GiveBack(ctx context.Context, at Progress) error {
	_, err := t.Keep(ctx, at, 0)
	return err
}

// Done ends the turn, of which nothing is left to do.
func (t *Turn) Done(ctx context.Context) error {
	_, _, _, err := t.call(ctx, 0, "done", "")
	return err
}

func (t *Turn) call(
	ctx context.Context, lasts time.Duration, partition, notes string,
) (at Progress, taken bool, wait time.Duration, err error) {
	const doing = "taking the turn of going through reservations"
	answer, err := script.Run(ctx, t.client, lua.RefitTurn, doing, []string{t.key}, []any{
		"", t.owner, lasts.Milliseconds(), t.version, t.action, partition, notes,
	})
	if err != nil {
		return at, false, 0, err
	}
	in := script.Read(answer, doing)
	result, number := in.Int(0), in.Int(1)
	if in.Err == nil && result != 0 {
		at = Progress{Next: int(number), Notes: in.String(2)}
	}
	switch {
	case in.Err != nil:
		return at, false, 0, in.Err
	case result == 0:
		return at, false, time.Duration(number) * time.Millisecond, nil
	case number < 0 || number > keyspace.Partitions:
		return at, false, 0, script.ReplyError(doing, fmt.Sprintf("partition %d", number))
	default:
		return at, true, 0, nil
	}
}
