package heavy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

func lateID(n int) string    { return fmt.Sprintf("late-%d", n) }
func waitingID(n int) string { return fmt.Sprintf("waiting-%d", n) }
func judgedID(n int) string  { return fmt.Sprintf("judged-%d", n) }

// writeLate writes messages that are late, with many places before and after.
func writeLate(ctx context.Context, client redis.Cmdable, user, category string, now time.Time) error {
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	return writePending(ctx, client, user, lateOnes, func(pipe redis.Pipeliner, n int) pending {
		if n == 0 {
			pipe.Del(ctx, keys.LateMark(user), keys.Waiting(user))
		}
		return pending{lateID(n), []string{"", counted, category}[n%3], now.Add(time.Duration(n)*time.Second - 20*time.Hour), time.Time{}}
	})
}

// writeWaiting writes messages that were late, and wait for times after now.
func writeWaiting(ctx context.Context, client redis.Cmdable, user string, now time.Time) error {
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	return writePending(ctx, client, user, waitingOnes, func(pipe redis.Pipeliner, n int) pending {
		id, promised := waitingID(n), now.Add(time.Duration(n)*time.Millisecond-21*time.Hour)
		pipe.ZAdd(ctx, keys.Waiting(user), redis.Z{Score: float64(promised.UnixMilli()), Member: id})
		return pending{id, "", now.Add(time.Hour + time.Duration(n)*time.Second), promised}
	})
}

// writeJudged writes messages that are not due yet, over the day.
func writeJudged(ctx context.Context, client redis.Cmdable, user, category string, day time.Time) error {
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	return writePending(ctx, client, user, judgedOnes, func(pipe redis.Pipeliner, n int) pending {
		id, at := judgedID(n), day.Add(time.Duration(n)*24*time.Hour/judgedOnes)
		pipe.ZAdd(ctx, keys.Near(user), redis.Z{Score: float64(at.UnixMilli()), Member: keyspace.WatchMember(user, id, "g"+id)})
		return pending{id, category, at, time.Time{}}
	})
}

// removePending takes the places of those that wait and those that are judged away: they are
// beside those of the crowd.
func removePending(ctx context.Context, client redis.Cmdable, user string) error {
	ids := make([]any, 0, waitingOnes+judgedOnes)
	for n := range waitingOnes {
		ids = append(ids, waitingID(n))
	}
	for n := range judgedOnes {
		ids = append(ids, judgedID(n))
	}
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	return errors.Join(client.ZRem(ctx, keys.Timeline(user), ids...).Err(), client.ZRem(ctx, keys.Category(user, counted), ids...).Err())
}

// pending is a message with a place.
type pending struct {
	id, category string
	at, promised time.Time // promised is zero if it was never late
}

// writePending writes n messages, and what message writes itself.
func writePending(
	ctx context.Context, client redis.Cmdable, user string, n int, message func(pipe redis.Pipeliner, n int) pending,
) error {
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range n {
			m := message(pipe, i)
			at := m.at.UnixMilli()
			pipe.Del(ctx, keys.Record(user, m.id))
			fields := []any{"g", "g" + m.id, "t", at, "f", m.id, "x", m.at.Add(300 * 24 * time.Hour).UnixMilli()}
			place := redis.Z{Score: float64(at), Member: m.id}
			if m.category != "" {
				fields = append(fields, "k", m.category)
				pipe.ZAdd(ctx, keys.Category(user, m.category), place)
			}
			if !m.promised.IsZero() {
				fields = append(fields, "p", m.promised.UnixMilli())
			}
			pipe.HSet(ctx, keys.Record(user, m.id), fields...)
			pipe.ZAdd(ctx, keys.Timeline(user), place)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("pending messages of %s: %w", user, err)
	}
	return nil
}
