package find

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// windowPartitions is how many partitions a walk checks at once.
const windowPartitions = 256

// window is what a walk knows about the next partitions. In a small store most have no lists, and a
// partition may have many.
type window struct {
	end   int          // the list after the known ones
	empty map[int]bool // partitions without lists, by the number of their first list
	lone  bool         // most of them have none
}

// ahead returns the lists to read next, and the one after them. If the last read found nothing, it
// first checks which partitions have lists, and skips the others. With an id it does not: reading
// three parts of a partition is as fast.
func (w *walk) ahead(ctx context.Context) (numbers []int, end int, err error) {
	end = w.at.List
	if end >= w.known.end && len(w.of.parts) > 3 && (w.idle || w.known.lone) {
		if err := w.ask(ctx); err != nil {
			return nil, 0, err
		}
	}
	last := w.of.count()
	if end < w.known.end {
		last = w.known.end
	}
	for ; end < last && len(numbers) < w.together; end++ {
		if !w.known.empty[w.of.head(end)] {
			numbers = append(numbers, end)
		}
	}
	return numbers, end, nil
}

// ask checks which partitions have lists, from the current one on.
func (w *walk) ask(ctx context.Context) error {
	first := w.of.head(w.at.List)
	end := min(first+windowPartitions*len(w.of.parts), w.of.count())
	known := make(map[int]*redis.IntCmd)
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for list := first; list < end; list += len(w.of.parts) {
			keys := make([]string, len(w.of.parts))
			for i := range keys {
				keys[i] = w.of.key(list + i)
			}
			known[list] = pipe.Exists(ctx, keys...)
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, walking)
	}
	w.known = window{end: end, empty: make(map[int]bool)}
	for list, lists := range known {
		if lists.Val() == 0 {
			w.known.empty[list] = true
		}
	}
	w.known.lone = 2*len(w.known.empty) > len(known)
	w.looked += len(known)
	return nil
}
