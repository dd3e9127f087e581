package find

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// windowPartitions is how many partitions a walk checks at once.
const windowPartitions = 256

// window is what a walk knows about the next partitions. In a small store most have no lists or only
// a head, and a partition has many parts.
type window struct {
	end   int           // the list after the known ones
	parts map[int]parts // of the partitions, by the number of their first list
	spare bool          // most of their lists need no read
}

// parts are the lists that a partition has.
type parts struct{ head, others bool }

// ahead returns the lists to read next, and the one after them. If the last read found most lists
// empty, it first checks which parts the partitions have, and skips the others. With an id it does
// not: reading three parts of a partition is as fast.
func (w *walk) ahead(ctx context.Context) (numbers []int, end int, err error) {
	end = w.at.List
	if end >= w.known.end && len(w.of.parts) > 3 && (w.sparse || w.known.spare) {
		if err := w.ask(ctx); err != nil {
			return nil, 0, err
		}
	}
	last := w.of.count()
	if end < w.known.end {
		last = w.known.end
	}
	for ; end < last && len(numbers) < w.together; end++ {
		if w.mayHave(end) {
			numbers = append(numbers, end)
		}
	}
	return numbers, end, nil
}

// mayHave reports whether a list may have entries. A head may if its partition has others, since the
// messages of a head are skipped in these.
func (w *walk) mayHave(list int) bool {
	head := w.of.head(list)
	of, known := w.known.parts[head]
	return !known || of.others || of.head && list == head
}

// ask checks which parts the partitions have, from the current one on.
func (w *walk) ask(ctx context.Context) error {
	first := w.of.head(w.at.List)
	end := min(first+windowPartitions*len(w.of.parts), w.of.count())
	var counts []*redis.IntCmd
	_, err := w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for list := first; list < end; list += len(w.of.parts) {
			keys := make([]string, 0, 2*len(w.of.parts))
			for i := range w.of.parts {
				keys = append(keys, w.of.key(list+i))
			}
			keys = append(keys, keys[1:]...) // the head counts once, each other part twice
			counts = append(counts, pipe.Exists(ctx, keys...))
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, walking)
	}
	w.known = window{end: end, parts: make(map[int]parts, len(counts))}
	reads := 0
	for i, count := range counts {
		of := parts{head: count.Val()%2 == 1, others: count.Val() > 1}
		w.known.parts[first+i*len(w.of.parts)] = of
		switch {
		case of.others:
			reads += len(w.of.parts)
		case of.head:
			reads++
		}
	}
	w.known.spare = 2*reads < end-first
	w.looked += len(counts)
	return nil
}
