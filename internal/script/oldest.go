package script

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// firstRead is how many entries of each set are read at first: most sets are read only once.
	firstRead = 8
	// largestRead bounds a read, except where more entries have the same score.
	largestRead = 1024
)

// EntryAt returns an entry of a sorted set whose scores are Unix ms. A zero time means before all
// others.
func EntryAt(at time.Time, member string) redis.Z {
	if at.IsZero() {
		return redis.Z{Score: math.Inf(-1), Member: member}
	}
	return redis.Z{Score: float64(at.UnixMilli()), Member: member}
}

// Oldest returns the first entries of sorted sets together, ascending by score, then by member, at
// most limit. It begins after an entry, and ends before the score till, as ZRANGE writes it. It omits
// members that wanted refuses. The memory for it does not grow with the sets.
func Oldest(
	ctx context.Context, client redis.Cmdable, doing string, keys []string, after redis.Z, till string,
	limit int, wanted func(member string) bool,
) ([]redis.Z, error) {
	sets := make([]struct {
		last       redis.Z
		read, more int // entries of the last read, and how many of them are new
	}, len(keys))
	open := make([]int, len(keys)) // sets whose further entries may be among the first ones
	for i := range keys {
		sets[i].last, open[i] = after, i
	}
	var found []redis.Z
	for size := firstRead; len(open) > 0; {
		// A read begins at a score, not after an entry.
		err := eachSpan(ctx, client, doing, open, func(i int) redis.ZRangeArgs {
			sets[i].read, sets[i].more = 0, 0
			start := any(sets[i].last.Score)
			if math.IsInf(sets[i].last.Score, -1) {
				start = "-inf"
			}
			return redis.ZRangeArgs{Key: keys[i], Start: start, Stop: till, ByScore: true, Count: int64(size)}
		}, func(i int, entry redis.Z) {
			s := &sets[i]
			if s.read++; compareEntries(s.last, entry) >= 0 {
				return
			}
			s.last = entry
			s.more++
			if wanted(MemberOf(entry)) {
				found = append(found, entry)
			}
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, compareEntries)
		found = found[:min(limit, len(found))]
		full := size
		for _, i := range open {
			if sets[i].read == full && (sets[i].more == 0 || full < largestRead) {
				size = 2 * full
			}
		}
		open = slices.DeleteFunc(open, func(i int) bool {
			return sets[i].read < full || len(found) == limit && compareEntries(sets[i].last, found[limit-1]) >= 0
		})
	}
	return found, nil
}

// MemberOf returns the member of an entry.
func MemberOf(entry redis.Z) string {
	member, _ := entry.Member.(string) // always a string
	return member
}

func compareEntries(a, b redis.Z) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(MemberOf(a), MemberOf(b)))
}
