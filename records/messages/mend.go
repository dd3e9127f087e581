package messages

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

// Message identifies a message.
type Message struct {
	User string
	ID   string
}

const mending = "looking for messages without an entry in the watch list"

// Mend adds messages that have not ended to the watch list if they are missing, and returns how
// many. No script leaves such messages: a store was restored without all of its keys, or somebody
// deleted some. A record without an entry would otherwise wait forever.
func (w *WatchList) Mend(ctx context.Context, all []Message) (mended int, failed error) {
	fields := []string{keyspace.RecordState, keyspace.RecordGeneration}
	records := make([]*redis.SliceCmd, len(all))
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, m := range all {
			records[i] = pipe.HMGet(ctx, w.keys.Record(m.User, m.ID), fields...)
		}
		return nil
	})
	if err != nil {
		return 0, store.Explain(err, mending)
	}
	var open []Message
	var looks []*redis.FloatCmd // two for each
	_, err = w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, m := range all {
			record := script.ReadFields(fields, records[i].Val())
			if state := stateOf(record); state != StatePending && state != StateSending {
				continue // or it is of a newer program
			}
			open = append(open, m)
			member := keyspace.WatchMember(m.User, m.ID, record.Text(keyspace.RecordGeneration))
			looks = append(looks,
				pipe.ZScore(ctx, w.keys.Far(m.User, m.ID), member), pipe.ZScore(ctx, w.keys.Near(m.User), member))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, store.Explain(err, mending)
	}
	for i, m := range open {
		if looks[2*i].Err() == nil || looks[2*i+1].Err() == nil {
			continue
		}
		yes, err := w.mend(ctx, m, time.Time{})
		if store.IsMoving(err) {
			continue
		}
		if err != nil {
			return mended, err
		}
		if yes {
			mended++
		}
	}
	return mended, nil
}

// mend completes the end of a message, or adds a missing entry. It reports whether anything was
// missing.
func (w *WatchList) mend(ctx context.Context, m Message, now time.Time) (bool, error) {
	keep := ""
	if w.fixed.KeepContent {
		keep = "1"
	}
	in := script.Call(ctx, w.client, lua.Mend, mending, []string{
		w.keys.Record(m.User, m.ID), w.keys.Timeline(m.User), w.keys.DeadLettersOf(m.User), w.keys.Ended(m.User),
	}, []any{
		script.Milliseconds(now), m.ID, keyspace.WatchWord(m.User, m.ID), w.horizon.Milliseconds(),
		w.fixed.KeepRecords.Milliseconds(), w.fixed.Rules.Book().Keep.Milliseconds(), keep, w.fixed.Subscribers.Argument(),
	})
	w.fixed.Subscribers.Note(m.User)
	return script.Yes(in)
}
