package events

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// stateKept is how long the state of a callback is kept after its last request. It is longer than a
// Log may keep an event, so no event is left then.
const stateKept = 62 * 24 * time.Hour

// Callbacks keeps the state of each account's callback: the posted events, the worker with the
// turn, and the dead events. It is safe for concurrent use, by any number of processes.
type Callbacks struct {
	client  redis.Cmdable
	keys    keyspace.Keys
	options Options // of the Log, complete
}

// NewCallbacks returns the callbacks of a store, with the options of its Log. The error is an
// *InvalidError.
func NewCallbacks(client redis.Cmdable, o Options) (*Callbacks, error) {
	log, err := NewLog(client, o)
	if err != nil {
		return nil, err
	}
	return &Callbacks{client: log.client, keys: log.keys, options: log.options}, nil
}

// Kept returns how long events are kept.
func (c *Callbacks) Kept() time.Duration { return c.options.Keep }

// ListenEvery is Options.ListenEvery.
func (c *Callbacks) ListenEvery() time.Duration { return c.options.ListenEvery() }

// Turn is a worker's permission to post events of an account.
type Turn struct {
	Account, Nonce string
	Now            time.Time // by the store's clock
	// Cursor is the id of the last posted event.
	Cursor string
	// Waiting counts the events after it.
	Waiting int
	// Attempts failed since the last success; the first one at Failing.
	Attempts int
	Failing  time.Time
	// Lost counts events that were removed since the last turn before they were posted.
	Lost int
}

// ErrNoCallback is returned by Take if the account's callback has no state; Begin creates it.
var ErrNoCallback = errors.New("the account has no state of a callback")

// Begin creates the state of an account's callback, unless there is one. The callback gets events
// from now on; with kept, all kept events.
func (c *Callbacks) Begin(ctx context.Context, account string, kept bool) error {
	if kept {
		return c.begin(ctx, account, "kept")
	}
	return c.begin(ctx, account, "new")
}

// Replace creates the state of a new callback, even if there is one: a worker that does not know of
// the removal of the former callback may have created it.
func (c *Callbacks) Replace(ctx context.Context, account string) error {
	return c.begin(ctx, account, "anew")
}

func (c *Callbacks) begin(ctx context.Context, account, from string) error {
	const doing = "beginning a callback"
	in := c.run(ctx, lua.CallbackBegin, doing, account, from, stateKept.Milliseconds())
	_ = in.Int(0)
	return in.Err
}

// Forget removes the state of an account's callback. A worker with the turn posts no further
// events. Dead events stay.
func (c *Callbacks) Forget(ctx context.Context, account string) error {
	if err := checkName(account); err != nil {
		return err
	}
	return store.Explain(c.client.Del(ctx, c.keys.AccountCallback(account)).Err(), "removing a callback")
}

// Take gives the caller the turn to post events of an account, for the length of a lease. If ok is
// false, there is nothing to do before next; zero means before there are events. A repeated call
// with the same nonce has the same answer. The error is ErrNoCallback if the callback has no state.
func (c *Callbacks) Take(
	ctx context.Context, account, nonce string, lease time.Duration,
) (_ Turn, next time.Time, ok bool, err error) {
	const doing = "taking the turn of a callback"
	in := c.run(ctx, lua.CallbackTake, doing, account, "", nonce, lease.Milliseconds())
	switch result := in.Int(0); {
	case in.Err != nil:
		return Turn{}, time.Time{}, false, in.Err
	case result == -1:
		return Turn{}, time.Time{}, false, ErrNoCallback
	case result == 0:
		next = in.Time(2)
		return Turn{}, next, false, in.Err
	}
	t := Turn{
		Account: account, Nonce: nonce, Now: in.Time(1), Cursor: in.String(2), Waiting: int(in.Int(3)),
		Attempts: int(in.Int(4)), Failing: in.Time(5), Lost: int(in.Int(6)),
	}
	return t, time.Time{}, in.Err == nil, in.Err
}

// Outcome is the outcome of a request with events.
type Outcome struct {
	// Reason is why the request failed; "" for a success.
	Reason string
	// Wait is the time until the next request.
	Wait time.Duration
	// Last is the id of the last posted event; of a failure, of the last event that is given up; ""
	// for none. Count is the number of events from the cursor to it.
	Last  string
	Count int
}

// Settle records the outcome of a request and ends the turn. dead is the number of dead events.
// held is false if another worker has the turn, or the callback was removed: then nothing was
// recorded.
func (c *Callbacks) Settle(ctx context.Context, t Turn, o Outcome) (dead int, held bool, err error) {
	const doing = "settling a request to a callback"
	in := c.runWith(ctx, lua.CallbackSettle, doing, t.Account, c.keys.AccountDeadEvents(t.Account),
		"", t.Nonce, o.Reason, o.Wait.Milliseconds(), o.Last, o.Count,
		c.options.Most, c.options.Keep.Milliseconds(), stateKept.Milliseconds())
	if in.Int(0) == 0 || in.Err != nil {
		return 0, false, in.Err
	}
	return int(in.Int(2)), true, in.Err
}

// Progress is the state of a callback.
type Progress struct {
	Waiting     int       // events not posted yet
	Dead        int       // dead events
	Lost        int       // events that were removed before they were posted
	Attempts    int       // failed ones since the last success
	Failing     time.Time // the first of them; zero if the last request succeeded
	SucceededAt time.Time // the last success; zero for never
	FailedAt    time.Time // the last failure; zero for never
	Reason      string    // of the last failure
	NextAt      time.Time // the earliest next request
}

// Progress returns the state of an account's callback, in one round trip.
func (c *Callbacks) Progress(ctx context.Context, account string) (Progress, error) {
	const doing = "reading how far a callback is"
	if err := checkName(account); err != nil {
		return Progress{}, err
	}
	names := []string{
		keyspace.CallbackPassed, keyspace.CallbackLost, keyspace.CallbackAttempts, keyspace.CallbackFailing,
		keyspace.CallbackSucceededAt, keyspace.CallbackFailedAt, keyspace.CallbackReason, keyspace.CallbackNextAt,
	}
	var fields, gathered *redis.SliceCmd
	var dead, kept *redis.IntCmd
	_, err := c.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		fields = pipe.HMGet(ctx, c.keys.AccountCallback(account), names...)
		gathered = pipe.HMGet(ctx, c.keys.AccountGathered(account), keyspace.EventsAppended)
		dead, kept = pipe.XLen(ctx, c.keys.AccountDeadEvents(account)), pipe.XLen(ctx, c.keys.AccountEvents(account))
		return nil
	})
	if err != nil {
		return Progress{}, store.Explain(err, doing)
	}
	f := script.ReadFields(names, fields.Val())
	p := Progress{
		Dead: int(dead.Val()), Lost: int(f.Int(keyspace.CallbackLost)),
		Attempts: int(f.Int(keyspace.CallbackAttempts)), Failing: f.Time(keyspace.CallbackFailing),
		SucceededAt: f.Time(keyspace.CallbackSucceededAt), FailedAt: f.Time(keyspace.CallbackFailedAt),
		Reason: f.Text(keyspace.CallbackReason), NextAt: f.Time(keyspace.CallbackNextAt),
	}
	if f.Has(keyspace.CallbackPassed) {
		g := script.ReadFields([]string{keyspace.EventsAppended}, gathered.Val())
		p.Waiting = min(max(int(g.Int(keyspace.EventsAppended)-f.Int(keyspace.CallbackPassed)), 0), int(kept.Val()))
		if err := g.Err(doing); err != nil {
			return Progress{}, err
		}
	}
	return p, f.Err(doing)
}

// run calls a script with the callback, the events and the gathered key of an account.
func (c *Callbacks) run(ctx context.Context, s *lua.Script, doing, account string, args ...any) *script.ReplyReader {
	return c.runWith(ctx, s, doing, account, c.keys.AccountGathered(account), args...)
}

func (c *Callbacks) runWith(ctx context.Context, s *lua.Script, doing, account, third string, args ...any) *script.ReplyReader {
	if err := checkName(account); err != nil {
		return &script.ReplyReader{Doing: doing, Err: err}
	}
	return script.Call(ctx, c.client, s, doing, []string{c.keys.AccountCallback(account), c.keys.AccountEvents(account), third}, args)
}

func checkName(account string) error {
	if !keyspace.ValidName(account) {
		return &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName}
	}
	return nil
}
