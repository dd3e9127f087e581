package messages

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Losses are what a store lost when it evicted keys, as far as the keys that are left show it: a
// message of which nothing is left is not among them.
type Losses struct {
	Messages   int // accepted and pending, without a record: they are not sent
	Users      int // of those messages that the watch lists name
	Partitions []int
	Some       []Message // the first of them, at most someLost
	Freed      int       // places of lost messages
	Unwatched  int       // messages that were missing in the watch list, and were added
	Unplaced   int       // scheduled messages without a place: the rules no longer count them
}

// None reports whether nothing was lost.
func (l Losses) None() bool { return l.Messages == 0 && l.Unwatched == 0 && l.Unplaced == 0 }

// someLost is how many lost messages a report names.
const someLost = 20

const losing = "looking for lost messages"

// FindLosses compares the watch lists, the records and the places of all messages. It removes entries
// of the watch lists whose messages have no record, so that nobody counts them as pending, adds
// missing entries, and frees the places of lost messages. It reads all keys of the store. It makes its
// calls in throttle, which may wait. On an error it returns what it found before. now is the store's
// time.
func (l *LostPlaces) FindLosses(
	ctx context.Context, watch *WatchList, throttle func(ctx context.Context, batch func() error) error, now time.Time,
) (found Losses, failed error) {
	partitions, failed := script.Occupied(ctx, l.client, losing, l.keys.WatchLists)
	search := &lossSearch{now: now, found: &found, users: make(map[string]bool)}
	for _, partition := range partitions {
		before := found.Messages
		if err := l.removeLost(ctx, partition, throttle, search); err != nil && failed == nil {
			failed = err
		}
		if found.Messages > before {
			found.Partitions = append(found.Partitions, partition)
		}
	}
	found.Users = len(search.users)
	err := l.eachKeys(ctx, l.keys.RecordsPattern(), throttle, func(keys []string) error {
		var all []Message
		for _, key := range keys {
			if user, id, ok := l.keys.ParseRecord(key); ok {
				all = append(all, Message{User: user, ID: id})
			}
		}
		return throttle(ctx, func() error {
			mended, err := watch.Mend(ctx, all)
			found.Unwatched += mended
			if err != nil {
				return err
			}
			unplaced, err := l.unplaced(ctx, all, now)
			found.Unplaced += unplaced
			return err
		})
	})
	freed := Freed{}
	if failed = errors.Join(failed, err); failed == nil {
		freed, failed = l.Free(ctx, throttle, now)
	}
	found.Freed = freed.Places
	found.Messages += max(0, freed.Messages-search.placed)
	return found, failed
}

// lossSearch is what a search has found in the watch lists.
type lossSearch struct {
	now    time.Time
	found  *Losses
	users  map[string]bool // of the lost messages
	placed int             // of these messages, those with a place that Free frees
}

// removeLost removes the entries of a partition's watch list whose messages have no record. It reads
// all its lists together: most have few entries, and throttle rests after each call.
func (l *LostPlaces) removeLost(
	ctx context.Context, partition int, throttle func(context.Context, func() error) error, search *lossSearch,
) error {
	const scanCount = 100 // of each list
	cursors := make(map[string]uint64)
	for _, list := range l.keys.WatchLists(partition) {
		cursors[list] = 0
	}
	for len(cursors) > 0 {
		err := throttle(ctx, func() error {
			pages := make(map[string]*redis.ScanCmd, len(cursors))
			_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for list, cursor := range cursors {
					pages[list] = pipe.ZScan(ctx, list, cursor, "", scanCount)
				}
				return nil
			})
			if err != nil {
				return store.Explain(err, losing)
			}
			for list, page := range pages {
				entries, next := page.Val() // members and scores
				if cursors[list] = next; next == 0 {
					delete(cursors, list)
				}
				if err := l.removeFrom(ctx, list, entries, search); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeFrom removes those of some members of a list, each followed by its score, whose messages have
// no record. A message with the same id that is accepted meanwhile has another member.
func (l *LostPlaces) removeFrom(ctx context.Context, list string, entries []string, search *lossSearch) error {
	var members []string
	var messages []Message
	for i := 0; i < len(entries); i += 2 {
		if user, id, _, ok := keyspace.ParseWatchMember(entries[i]); ok {
			members, messages = append(members, entries[i]), append(messages, Message{User: user, ID: id})
		}
	}
	if len(members) == 0 {
		return nil
	}
	records, places := make([]*redis.IntCmd, len(members)), make([]placed, len(members))
	_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, m := range messages {
			records[i], places[i] = pipe.Exists(ctx, l.keys.Record(m.User, m.ID)), l.askPlaced(ctx, pipe, m)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return store.Explain(err, losing)
	}
	for i, m := range messages {
		if records[i].Val() > 0 {
			continue
		}
		removed, err := l.client.ZRem(ctx, list, members[i]).Result()
		if err != nil {
			return store.Explain(err, losing)
		}
		if removed == 0 {
			continue // it ended meanwhile
		}
		search.users[m.User] = true
		if places[i].after(search.now.Add(time.Minute)) {
			search.placed++
		}
		search.found.Messages++
		if len(search.found.Some) < someLost {
			search.found.Some = append(search.found.Some, m)
		}
	}
	return nil
}

// placed are the answers for the places of a message: the counted one, and the one beside the timeline.
type placed [2]*redis.FloatCmd

func (l *LostPlaces) askPlaced(ctx context.Context, pipe redis.Pipeliner, m Message) placed {
	return placed{pipe.ZScore(ctx, l.keys.Timeline(m.User), m.ID), pipe.ZScore(ctx, l.keys.Uncounted(m.User), m.ID)}
}

// after reports whether the message has a place later than a time.
func (p placed) after(t time.Time) bool {
	return max(p[0].Val(), p[1].Val()) > float64(t.UnixMilli())
}

// unplaced counts the messages that are pending for more than a minute and have no place. Earlier ones
// may have been removed with their time.
func (l *LostPlaces) unplaced(ctx context.Context, all []Message, now time.Time) (unplaced int, failed error) {
	fields := []string{keyspace.RecordState, keyspace.RecordGeneration, keyspace.RecordSendAt}
	records, places := make([]*redis.SliceCmd, len(all)), make([]placed, len(all))
	_, err := l.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, m := range all {
			records[i], places[i] = pipe.HMGet(ctx, l.keys.Record(m.User, m.ID), fields...), l.askPlaced(ctx, pipe, m)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, store.Explain(err, losing)
	}
	for i := range all {
		record := script.ReadFields(fields, records[i].Val())
		if stateOf(record) == StatePending && record.Time(keyspace.RecordSendAt).After(now.Add(time.Minute)) &&
			!places[i].after(time.UnixMilli(0)) {
			unplaced++
		}
	}
	return unplaced, nil
}
