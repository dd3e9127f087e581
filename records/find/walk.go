package find

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// place is a place in the order of the entries: after an entry of a list, or before the first one.
type place struct {
	List   int    `json:"l"`
	Score  int64  `json:"s,omitempty"`
	Member string `json:"m,omitempty"` // "" before the first entry
}

// entry is an entry of a list, with its message.
type entry struct {
	place

	user, id string // "" if a newer program wrote the member
	twice    bool   // the message also has an entry in the head
}

// walk reads lists in order.
type walk struct {
	client redis.Cmdable
	of     lists
	at     place // the beginning of the next read
	// together is how many lists the next read begins, and each how many entries it reads of each.
	together, each int
	looked         int  // entries and lists that were read, and partitions that were checked
	sparse         bool // most lists of the last read were empty
	known          window
	// head is the list of inHead: the head of the current partition, or -1. It was read before the
	// other parts of the partition.
	head   int
	inHead map[string]bool
}

// The sizes of reads. The first read is small, since a page often needs no more. Later ones adapt
// to the length of the lists, and read about wanted entries.
const (
	firstTogether = 4
	maxTogether   = 128
	fewestEach    = 2 * keyspace.IndexHead // more than a full head
	maxEach       = 2048
	wanted        = 4096
)

func newWalk(client redis.Cmdable, of lists, from place) *walk {
	return &walk{client: client, of: of, at: from, together: firstTogether, each: fewestEach, head: -1}
}

// ended reports whether the walk is at the end of the last list.
func (w *walk) ended() bool { return w.at.List >= w.of.count() }

// next returns the following entries, in order. No entries do not mean the end.
func (w *walk) next(ctx context.Context) ([]entry, error) {
	if err := w.readHead(ctx); err != nil {
		return nil, err
	}
	if w.at.Member != "" {
		return w.goOn(ctx)
	}
	numbers, end, err := w.ahead(ctx)
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		w.at = place{List: end}
		return nil, nil
	}
	reads := make([]*redis.ZSliceCmd, len(numbers))
	_, err = w.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, list := range numbers {
			reads[i] = pipe.ZRangeArgsWithScores(ctx, w.span(list, w.of.first, w.each))
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, walking)
	}
	w.at = place{List: end}
	var entries []entry
	longest, empty := 0, 0
	for i, read := range reads {
		found := read.Val()
		if len(found) == 0 {
			empty++
		}
		if w.of.head(numbers[i]) == numbers[i] {
			w.setHead(numbers[i], found)
		}
		entries = w.appendEntries(entries, numbers[i], found)
		longest = max(longest, len(found))
		if len(found) == w.each { // there may be more: later lists are read again
			w.at = entries[len(entries)-1].place
			break
		}
	}
	w.sparse = 2*empty > len(reads)
	w.looked += len(entries) + len(reads)
	average := len(entries) / len(reads)
	w.together = min(max(wanted/(average+1), 1), 4*w.together, maxTogether)
	w.each = min(max(2*longest, fewestEach), maxEach)
	return entries, nil
}

const walking = "reading the index of messages"

func (w *walk) span(list int, from int64, count int) redis.ZRangeArgs {
	return redis.ZRangeArgs{Key: w.of.key(list), Start: from, Stop: w.of.last, ByScore: true, Count: int64(count)}
}

// goOn reads on after an entry. If the entry still exists, it reads from its rank on, since many
// entries may have the same score.
func (w *walk) goOn(ctx context.Context) ([]entry, error) {
	key, from := w.of.key(w.at.List), w.at
	rank, err := w.client.ZRank(ctx, key, from.Member).Result()
	if errors.Is(err, redis.Nil) {
		return w.goOnByScore(ctx)
	}
	if err != nil {
		return nil, store.Explain(err, walking)
	}
	found, err := w.client.ZRangeWithScores(ctx, key, rank, rank+maxEach).Result()
	if err != nil {
		return nil, store.Explain(err, walking)
	}
	entries := w.appendEntries(nil, from.List, found)
	if len(entries) == 0 || entries[0].place != from { // the list has changed in between
		return w.goOnByScore(ctx)
	}
	w.continues(entries, len(found) > maxEach)
	entries = entries[1:]
	for i, e := range entries {
		if e.Score > w.of.last {
			w.at = place{List: from.List + 1}
			return entries[:i], nil
		}
	}
	return entries, nil
}

// goOnByScore reads on after an entry that no longer exists.
func (w *walk) goOnByScore(ctx context.Context) ([]entry, error) {
	from := w.at
	for size := maxEach; ; size *= 2 {
		found, err := w.client.ZRangeArgsWithScores(ctx, w.span(from.List, from.Score, size)).Result()
		if err != nil {
			return nil, store.Explain(err, walking)
		}
		entries := w.appendEntries(nil, from.List, found)
		for len(entries) > 0 && !entries[0].after(from) {
			entries = entries[1:]
		}
		if more := len(found) == size; !more || len(entries) > 0 {
			w.continues(entries, more)
			return entries, nil
		}
	}
}

// continues sets the beginning of the next read, after a read of one list.
func (w *walk) continues(read []entry, more bool) {
	w.looked += len(read) + 1
	w.at = place{List: w.at.List + 1}
	if more {
		w.at = read[len(read)-1].place
	}
}

// after reports whether an entry comes after a place in its list. Members are ordered by bytes.
func (e entry) after(p place) bool {
	return e.Score > p.Score || e.Score == p.Score && e.Member > p.Member
}

// readHead reads the head of a partition if the walk begins after it.
func (w *walk) readHead(ctx context.Context) error {
	head := w.of.head(w.at.List)
	if head == w.head || w.at == (place{List: head}) {
		return nil
	}
	found, err := w.client.ZRangeArgsWithScores(ctx, w.span(head, w.of.first, 0)).Result() // 0: all
	if err != nil {
		return store.Explain(err, walking)
	}
	w.looked += len(found) + 1
	w.setHead(head, found)
	return nil
}

func (w *walk) setHead(head int, found []redis.Z) {
	w.head, w.inHead = head, make(map[string]bool, len(found))
	for _, z := range found {
		member, _ := z.Member.(string) // it is always a string
		w.inHead[member] = true
	}
}

// appendEntries appends the entries of a list. The head of its partition must be known.
func (w *walk) appendEntries(entries []entry, list int, found []redis.Z) []entry {
	for _, z := range found {
		member, _ := z.Member.(string) // it is always a string
		e := entry{place: place{List: list, Score: int64(z.Score), Member: member}}
		e.user, e.id, _ = keyspace.ParseIndexMember(member)
		e.twice = list != w.head && w.inHead[member]
		entries = append(entries, e)
	}
	return entries
}
