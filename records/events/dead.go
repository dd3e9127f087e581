package events

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Dead is an event that a callback did not accept in time. Its ID is that of the dead event.
type Dead struct {
	Event

	Why   string    // the reason of the last failure
	Ended time.Time // when it was given up
}

// DeadEvents returns at most n dead events of an account after an id, the oldest first; n is 1 to
// MaxRead. Oldest or "" begins with the oldest one.
func (c *Callbacks) DeadEvents(ctx context.Context, account, after string, n int) ([]Dead, error) {
	const doing = "listing dead events"
	if err := checkDead(account, "", n); err != nil {
		return nil, err
	}
	after, err := checkAfter(after)
	if err != nil {
		return nil, err
	}
	from := "-"
	if after != "" {
		from = "(" + after
	}
	entries, err := c.client.XRangeN(ctx, c.keys.AccountDeadEvents(account), from, "+", int64(n)).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	dead := make([]Dead, len(entries))
	for i, entry := range entries {
		event, err := eventOf(entry.ID, entry.Values, doing)
		if err != nil {
			return nil, err
		}
		names := []string{keyspace.DeadEventWhy, keyspace.DeadEventAt}
		f := script.ReadFields(names, []any{entry.Values[names[0]], entry.Values[names[1]]})
		dead[i] = Dead{Event: event, Why: f.Text(names[0]), Ended: f.Time(names[1])}
		if err := f.Err(doing); err != nil {
			return nil, err
		}
	}
	return dead, nil
}

// RetryDead appends dead events of an account to its events again: the one with an id, or at most n
// of the oldest for "". They are posted after all waiting events. It returns the number of retried
// and remaining dead events.
func (c *Callbacks) RetryDead(ctx context.Context, account, id string, n int) (retried, left int, err error) {
	const doing = "retrying dead events"
	if err := checkDead(account, id, n); err != nil {
		return 0, 0, err
	}
	in := script.Call(ctx, c.client, lua.DeadRetry, doing,
		[]string{c.keys.AccountDeadEvents(account), c.keys.AccountEvents(account), c.keys.AccountGathered(account)},
		[]any{"", id, n, c.options.Most, c.options.Keep.Milliseconds()})
	return int(in.Int(0)), int(in.Int(1)), in.Err
}

// PurgeDead removes dead events of an account: the one with an id, or all for "". It returns how
// many it removed.
func (c *Callbacks) PurgeDead(ctx context.Context, account, id string) (int, error) {
	const doing = "removing dead events"
	if err := checkDead(account, id, 1); err != nil {
		return 0, err
	}
	key := c.keys.AccountDeadEvents(account)
	var removing *redis.IntCmd
	if id == "" {
		removing = c.client.XTrimMaxLen(ctx, key, 0)
	} else {
		removing = c.client.XDel(ctx, key, id)
	}
	removed, err := removing.Result()
	return int(removed), store.Explain(err, doing)
}

func checkDead(account, id string, n int) error {
	if err := checkName(account); err != nil {
		return err
	}
	if n < 1 || n > MaxRead {
		return &fault.InvalidError{Field: "limit", Value: strconv.Itoa(n), Want: fmt.Sprintf("1 to %d", MaxRead)}
	}
	if _, _, ok := ParseID(id); id != "" && !ok {
		return &fault.InvalidError{Field: "id", Value: id, Want: `a dead event's id such as "1732000000000-0"`}
	}
	return nil
}
