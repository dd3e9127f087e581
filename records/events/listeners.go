package events

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Listeners keeps the accounts whose events have listeners. It is safe for concurrent use.
type Listeners struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewListeners returns the listeners of a store.
func NewListeners(client redis.Cmdable, keys keyspace.Keys) *Listeners {
	return &Listeners{client: client, keys: keys}
}

// Listen adds a listener for the events of an account, or of keyspace.Everyone, until a time by the
// server's clock. A later time of another listener stays. Within two seconds every program writes
// events of the account.
func (l *Listeners) Listen(ctx context.Context, account string, until time.Time) error {
	const doing = "listening to events"
	if err := checkAccount(account); err != nil {
		return err
	}
	in := script.Call(ctx, l.client, lua.EventListen, doing, []string{l.keys.Listeners()},
		[]any{"", account, until.UnixMilli()})
	_ = in.Time(0)
	return in.Err
}

// ListenEvery returns the interval for Listen of a program that follows the events of a Log, each
// time until Keep from then on. A few failed calls do not end the listening.
func (o Options) ListenEvery() time.Duration {
	return min(time.Hour, o.WithDefaults().Keep/4)
}

// Forget removes the listeners of an account. Events that were not gathered expire.
func (l *Listeners) Forget(ctx context.Context, account string) error {
	if err := checkAccount(account); err != nil {
		return err
	}
	return store.Explain(l.client.HDel(ctx, l.keys.Listeners(), account).Err(), "ending to listen to events")
}

// Load returns the current listeners, by the server's clock.
func (l *Listeners) Load(ctx context.Context) (Listening, error) {
	listening, _, err := l.load(ctx)
	return listening, err
}

const asking = "asking who listens to events"

// load is Load with the server's time.
func (l *Listeners) load(ctx context.Context) (Listening, time.Time, error) {
	var clock *redis.TimeCmd
	var load func(now time.Time) (Listening, error)
	_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		clock, load = pipe.Time(ctx), l.Ask(ctx, pipe)
		return nil
	})
	if err != nil {
		return Listening{}, time.Time{}, store.Explain(err, asking)
	}
	listening, err := load(clock.Val())
	return listening, clock.Val(), err
}

// Ask makes the reads of Load in a client or a pipeline, and returns the function that loads the replies. It
// takes the server's time.
func (l *Listeners) Ask(ctx context.Context, client redis.Cmdable) (load func(now time.Time) (Listening, error)) {
	reply := client.HGetAll(ctx, l.keys.Listeners())
	return func(now time.Time) (Listening, error) { return readListening(reply, now) }
}

func readListening(reply *redis.MapStringStringCmd, now time.Time) (Listening, error) {
	known, err := reply.Result()
	if err != nil {
		return Listening{}, store.Explain(err, asking)
	}
	listening := Listening{}
	for account, text := range known {
		until, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Listening{}, script.ReplyError(asking, "until "+strconv.Quote(text))
		}
		if until <= now.UnixMilli() {
			continue
		}
		if account == keyspace.Everyone {
			listening.everyone = true
		} else {
			listening.accounts = append(listening.accounts, account)
		}
	}
	slices.Sort(listening.accounts)
	return listening, nil
}

// Listening has the accounts with listeners. The zero value has none.
type Listening struct {
	accounts []string // ascending
	everyone bool     // there is a listener for all accounts
}

// Accounts returns the accounts with listeners, including keyspace.Everyone.
func (l Listening) Accounts() []string {
	if l.everyone {
		return append(slices.Clone(l.accounts), keyspace.Everyone)
	}
	return l.accounts
}

// Logs returns the logs for an event of an account; "" is a message without an account.
func (l Listening) Logs(account string) []string {
	var logs []string
	if _, found := slices.BinarySearch(l.accounts, account); found {
		logs = append(logs, account)
	}
	if l.everyone {
		logs = append(logs, keyspace.Everyone)
	}
	return logs
}
