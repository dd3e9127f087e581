package heavy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Crowd is a user with many places.
type Crowd struct {
	User     string
	Category string // of all places
	Places   int
	At       func(n int) time.Time
}

// Crowds returns users with very many places. A user gets so many when exempt messages
// count, or when limits were lowered. "even" has them all over the day, "bursts" 24 times
// many at the same millisecond. "near" has 750 on each side of the time that
// is asked for, all of them within the window of every sliding rule of Many; "booked" has
// some on every day of a year.
func Crowds(day time.Time, places int) []Crowd {
	return []Crowd{
		{"even", exempt, places, func(n int) time.Time { return day.Add(time.Duration(n) * 24 * time.Hour / time.Duration(places)) }},
		{"bursts", exempt, places, func(n int) time.Time { return day.Add(time.Duration(n%24) * time.Hour) }},
		{"near", counted, 1500, func(n int) time.Time { return asked(day).Add(time.Duration(n-750) * 35 * time.Millisecond) }},
		{"booked", counted, 3650, func(n int) time.Time { return day.Add(time.Duration(n) * 144 * time.Minute) }},
	}
}

// Fill writes the places of a user, with records of sent messages.
func (c Crowd) Fill(ctx context.Context, client redis.Cmdable) error {
	keys := keyspace.KeysUnder(keyspace.DefaultPrefix)
	numbers := make([]int, c.Places)
	for n := range numbers {
		numbers[n] = n
	}
	for part := range slices.Chunk(numbers, 2000) {
		_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			members := make([]redis.Z, len(part))
			for i, n := range part {
				id, at := fmt.Sprintf("m%06d", n), c.At(n).UnixMilli()
				members[i] = redis.Z{Score: float64(at), Member: id}
				pipe.HSet(ctx, keys.Record(c.User, id), "s", "d", "g", "g"+id, "t", at, "f", id, "k", c.Category)
			}
			pipe.ZAdd(ctx, keys.Timeline(c.User), members...)
			pipe.ZAdd(ctx, keys.Category(c.User, c.Category), members...)
			return nil
		})
		if err != nil {
			return fmt.Errorf("places of %s: %w", c.User, err)
		}
	}
	return nil
}
