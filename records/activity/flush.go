package activity

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

const writing = "writing what became of messages"

const (
	// remembered bounds the stored tokens of calls, in bytes: about 300 calls of all processes. A
	// call is repeated within a second or two.
	remembered = 4096
	// together is how many hashes a call adds to, which takes the store half a millisecond.
	together = 100
)

// batch is the addition of one call, all or nothing.
type batch struct {
	token  string
	hashes []*hash
}

// hash is the addition to a HASH.
type hash struct {
	key     string
	expires int64 // Unix ms
	counts  fields
}

// Flush writes the counts. Unwritten counts stay for the next call; written ones are not written
// twice, even if the reply got lost. Counts of all accounts are written first, since they need no
// zone.
func (l *Log) Flush(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return store.Explain(ctx.Err(), writing)
	}
	if err := l.write(ctx); err != nil {
		return err
	}
	l.pending = l.takeAll()
	if err := l.write(ctx); err != nil {
		return err
	}
	var unknown error
	l.pending, unknown = l.takeAccounts(ctx)
	return errors.Join(unknown, l.write(ctx))
}

// write writes the pending batches until one fails.
func (l *Log) write(ctx context.Context) error {
	for ; len(l.pending) > 0; l.pending = l.pending[1:] {
		b := l.pending[0]
		keys, args := []string{l.keys.ActivityCalls()}, []any{b.token, remembered}
		for _, h := range b.hashes {
			addition, err := json.Marshal([]any{h.expires, h.counts})
			if err != nil {
				return store.Explain(err, writing) // never: they are numbers
			}
			keys, args = append(keys, h.key), append(args, addition)
		}
		if _, err := script.Yes(script.Call(ctx, l.client, lua.AddOnce, writing, keys, args)); err != nil {
			return err
		}
	}
	return nil
}

// takeAll returns the counts of all accounts since the last call.
func (l *Log) takeAll() []batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	add := make(additions)
	for at, counts := range l.all {
		l.flushed.add(counts)
		start := time.Unix(at, 0)
		add.to(l.keys.ActivityMinute(start), start.Add(MinuteKept), counts)
		start = time.Unix(at-at%hour, 0)
		add.to(l.keys.ActivityHour(start), start.Add(HourKept), counts)
	}
	clear(l.all)
	return add.batches()
}

// takeAccounts returns the counts by account since the last call. If the zone of an account is
// unknown, its counts and those of the remaining accounts stay.
func (l *Log) takeAccounts(ctx context.Context) ([]batch, error) {
	l.mu.Lock()
	taken := l.accounts
	l.accounts = make(map[string]spans)
	l.mu.Unlock()
	add := make(additions)
	for account, quarters := range taken {
		zone, err := l.zones(ctx, account)
		if err != nil {
			l.putBack(taken)
			return add.batches(), err
		}
		for at, counts := range quarters {
			start := calendar.DayStart(time.Unix(at, 0), zone)
			add.to(l.keys.ActivityDay(account, start), start.Add(DayKept), counts)
		}
		delete(taken, account)
	}
	return add.batches(), nil
}

// putBack returns taken counts.
func (l *Log) putBack(taken map[string]spans) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for account, quarters := range taken {
		for at, since := range l.accounts[account] {
			quarters.at(at).add(since)
		}
		l.accounts[account] = quarters
	}
}

// additions are additions to hashes, by key.
type additions map[string]*hash

func (a additions) to(key string, expires time.Time, counts fields) {
	if a[key] == nil {
		a[key] = &hash{key: key, expires: expires.UnixMilli(), counts: make(fields)}
	}
	a[key].counts.add(counts)
}

// batches splits the additions into calls.
func (a additions) batches() (batches []batch) {
	for some := range slices.Chunk(slices.Collect(maps.Values(a)), together) {
		batches = append(batches, batch{token: keyspace.NewToken(), hashes: some})
	}
	return batches
}
