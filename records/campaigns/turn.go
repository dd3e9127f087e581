package campaigns

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Turn is the right to do something with all messages of a campaign. One program at a time has
// it. The next one that takes it for the same action continues where that one stopped, even if
// it was killed.
// Its methods return an *UnavailableError when the store did not answer.
type Turn struct {
	client redis.Scripter
	key    string
	owner  string
	action string
}

// NewTurn returns a turn that is not taken yet. The caller chooses the name of the action.
// The error is an *InvalidError.
func (p *Pauses) NewTurn(c Campaign, action string) (*Turn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Turn{client: p.client, key: p.keys.CampaignTurn(c.String()), owner: keyspace.NewToken(), action: action}, nil
}

// Take takes the turn for the given time; Keep prolongs it. notes are those of the turn that it
// continues, "" for none. If another program has the turn, taken is false, and wait is how long
// that program has it at least.
func (t *Turn) Take(ctx context.Context, lasts time.Duration) (notes string, taken bool, wait time.Duration, err error) {
	return t.call(ctx, lasts, "", "")
}

// Keep prolongs the turn to the given time from now, and stores notes for whoever continues it.
// kept is false if another program has taken the turn meanwhile.
func (t *Turn) Keep(ctx context.Context, notes string, lasts time.Duration) (kept bool, err error) {
	_, kept, _, err = t.call(ctx, lasts, "0", notes)
	return kept, err
}

// Done ends the turn when the work is done: the next turn begins anew.
func (t *Turn) Done(ctx context.Context) error {
	_, _, _, err := t.call(ctx, 0, "done", "")
	return err
}

func (t *Turn) call(ctx context.Context, lasts time.Duration, next, notes string) (then string, taken bool, wait time.Duration, err error) {
	const doing = "taking the turn of a campaign"
	answer, err := script.Run(ctx, t.client, lua.RefitTurn, doing, []string{t.key}, []any{
		"", t.owner, lasts.Milliseconds(), 0, t.action, next, notes,
	})
	if err != nil {
		return "", false, 0, err
	}
	in := script.Read(answer, doing)
	result, number := in.Int(0), in.Int(1)
	if in.Err != nil {
		return "", false, 0, in.Err
	}
	if result == 0 {
		return "", false, time.Duration(number) * time.Millisecond, nil
	}
	then = in.String(2)
	return then, true, 0, in.Err
}
