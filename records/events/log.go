package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// DefaultKeep is the default of Options.Keep.
const DefaultKeep = 72 * time.Hour

// DefaultMost is the default of Options.Most.
const DefaultMost = 100_000

// MaxRead is the maximum number of events that Read returns.
const MaxRead = 1000

// Options configures a Log.
type Options struct {
	Prefix string        // of every key; "" means keyspace.DefaultPrefix
	Keep   time.Duration // how long an event is kept, 1 minute to 31 days; zero means DefaultKeep
	// Most is about how many events of an account are kept, 100 to 10 million; zero means
	// DefaultMost.
	Most int
}

// WithDefaults replaces zero values by defaults.
func (o Options) WithDefaults() Options {
	o.Keep, o.Most = cmp.Or(o.Keep, DefaultKeep), cmp.Or(o.Most, DefaultMost)
	return o
}

// Validate checks complete options. The error is an *InvalidError.
func (o Options) Validate() error {
	const maxKeep, minMost, maxMost = 31 * 24 * time.Hour, 100, 10_000_000
	switch {
	case o.Keep < time.Minute || o.Keep > maxKeep:
		return &fault.InvalidError{Field: "events_keep", Value: o.Keep.String(), Want: "1 minute to 31 days"}
	case o.Most < minMost || o.Most > maxMost:
		return &fault.InvalidError{Field: "events_most", Value: strconv.Itoa(o.Most), Want: "100 to 10,000,000"}
	}
	return nil
}

// Log keeps the events of each account. It is safe for concurrent use, by any number of processes.
type Log struct {
	client  redis.Cmdable
	keys    keyspace.Keys
	options Options // complete
}

// NewLog returns the log of a store. The error is an *InvalidError.
func NewLog(client redis.Cmdable, o Options) (*Log, error) {
	o = o.WithDefaults()
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Log{client: client, keys: keys, options: o}, nil
}

// Append appends events of a partition to those of an account, in their order. Their IDs are those
// of the partition's stream, ascending; the log gives them others. An event that is not after the
// last appended one of its partition is skipped. Append returns the number of new events.
func (l *Log) Append(ctx context.Context, account string, partition int, events []Event) (int, error) {
	if err := checkAccount(account); err != nil {
		return 0, err
	}
	if partition < 0 || partition >= keyspace.Partitions {
		return 0, &fault.InvalidError{
			Field: "partition", Value: strconv.Itoa(partition), Want: fmt.Sprintf("0 to %d", keyspace.Partitions-1),
		}
	}
	sources := make([]source, len(events))
	for i, e := range events {
		if _, _, ok := ParseID(e.ID); !ok {
			return 0, &fault.InvalidError{Field: "id", Value: e.ID, Want: `that of a stream's entry, such as "1732000000000-0"`}
		}
		if strings.Contains(string(e.Type)+e.Account+e.User+e.MessageID+e.Campaign, "\n") {
			return 0, &fault.InvalidError{Field: "event", Value: fmt.Sprintf("%+v", e), Want: "a type and names without line breaks"}
		}
		sources[i] = source{partition, e.ID, e.fields()}
	}
	return l.append(ctx, account, sources)
}

// appendedAtOnce is how many events a call of the script appends, in less than a millisecond of the
// store's time.
const appendedAtOnce = 100

// append appends events of partitions to those of an account, and returns the number of new ones.
// The events of each partition are in order.
func (l *Log) append(ctx context.Context, account string, events []source) (appended int, failed error) {
	const doing = "appending events"
	keys := []string{l.keys.AccountEvents(account), l.keys.AccountGathered(account)}
	for some := range slices.Chunk(events, appendedAtOnce) {
		args := []any{"", l.options.Most, l.options.Keep.Milliseconds()}
		for _, e := range some {
			of, err := e.arguments()
			if err != nil {
				return appended, err
			}
			args = append(args, of...)
		}
		in := script.Call(ctx, l.client, lua.EventAppend, doing, keys, args)
		appended += int(in.Int(0))
		if in.Err != nil {
			return appended, in.Err
		}
	}
	return appended, nil
}

// Read returns at most n events of an account after an id, the oldest first; n is 1 to MaxRead.
// Oldest or "" as the id begins with the oldest kept event; keyspace.Everyone as the account reads
// the events of all. It takes one round trip.
func (l *Log) Read(ctx context.Context, account, after string, n int) ([]Event, error) {
	const doing = "reading events"
	after, err := checkRead(account, after, n)
	if err != nil {
		return nil, err
	}
	from := "-"
	if after != "" {
		from = "(" + after
	}
	entries, err := l.client.XRangeN(ctx, l.keys.AccountEvents(account), from, "+", int64(n)).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	return Parse(entries, doing)
}

// checkRead checks the arguments of Read, and returns after as checkAfter does.
func checkRead(account, after string, n int) (string, error) {
	if err := checkAccount(account); err != nil {
		return "", err
	}
	if n < 1 || n > MaxRead {
		return "", &fault.InvalidError{Field: "limit", Value: strconv.Itoa(n), Want: fmt.Sprintf("1 to %d", MaxRead)}
	}
	return checkAfter(after)
}

// ReadOn is Read that also reports a gap: the event with the id is no longer kept, or never
// existed, so events after it may be missing. After an id behind the last event it begins with the
// oldest kept event.
func (l *Log) ReadOn(ctx context.Context, account, after string, n int) (_ []Event, gap bool, err error) {
	const doing = "reading events"
	if after, err = checkRead(account, after, n); err != nil {
		return nil, false, err
	}
	if after == "" {
		read, err := l.Read(ctx, account, "", n)
		return read, false, err
	}
	var entries, last *redis.XMessageSliceCmd
	_, err = l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		key := l.keys.AccountEvents(account)
		entries = pipe.XRangeN(ctx, key, after, "+", int64(n)+1)
		last = pipe.XRevRangeN(ctx, key, "+", "-", 1)
		return nil
	})
	if err != nil {
		return nil, false, store.Explain(err, doing)
	}
	found := entries.Val()
	switch {
	case len(found) > 0 && found[0].ID == after:
		found = found[1:]
	case len(last.Val()) > 0 && Compare(after, last.Val()[0].ID) > 0:
		read, err := l.Read(ctx, account, "", n)
		return read, true, err
	default:
		gap, found = true, found[:min(len(found), n)]
	}
	read, err := Parse(found, doing)
	return read, gap, err
}

// Latest returns the id of the last event of an account, "" for none.
func (l *Log) Latest(ctx context.Context, account string) (string, error) {
	if err := checkAccount(account); err != nil {
		return "", err
	}
	entries, err := l.client.XRevRangeN(ctx, l.keys.AccountEvents(account), "+", "-", 1).Result()
	if err != nil {
		return "", store.Explain(err, "looking for the last event")
	}
	if len(entries) == 0 {
		return "", nil
	}
	return entries[0].ID, nil
}

// Parse reads entries of a stream of events. The error is an ErrReply that begins with doing.
func Parse(entries []redis.XMessage, doing string) ([]Event, error) {
	events := make([]Event, len(entries))
	for i, entry := range entries {
		var err error
		if events[i], err = eventOf(entry.ID, entry.Values, doing); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// checkAccount checks the name of an account, or keyspace.Everyone.
func checkAccount(account string) error {
	if account != keyspace.Everyone && !keyspace.ValidName(account) {
		return &fault.InvalidError{Field: "account", Value: account, Want: keyspace.WantName + `, or "*" for all accounts`}
	}
	return nil
}
