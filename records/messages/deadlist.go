package messages

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxDeadLetters is the maximum number of dead letters that a call lists or purges.
const MaxDeadLetters = 1000

// DeadLettersRequest requests dead letters, in the order in which they ended. The zero value
// requests the first MaxDeadLetters.
type DeadLettersRequest struct {
	User   string     // "" for all users
	Before time.Time  // ended before this; zero for all
	After  DeadLetter // continue after its User, ID and EndedAt; zero for the beginning
	Limit  int        // 1 to MaxDeadLetters; zero means MaxDeadLetters
}

// List returns dead letters without their content, ascending by the time they ended, then by id and
// user. It returns fewer than the limit if there are no more. Its memory does not grow with their
// number.
//
// It reads every partition; for a single user, one. It skips stale entries and removes them from
// the store.
func (d *DeadLetters) List(ctx context.Context, r DeadLettersRequest) ([]DeadLetter, error) {
	limit := cmp.Or(r.Limit, MaxDeadLetters)
	if limit < 1 || limit > MaxDeadLetters {
		return nil, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxDeadLetters)}
	}
	merged, err := d.merge(ctx, r)
	if err != nil {
		return nil, err
	}
	var letters []DeadLetter
	for more := true; more && len(letters) < limit; {
		entries, err := merged.take(ctx, limit-len(letters))
		if err != nil {
			return nil, err
		}
		more = len(entries) == limit-len(letters)
		if letters, err = d.read(ctx, letters, entries); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

// read appends the dead letters of entries, and removes stale entries.
func (d *DeadLetters) read(ctx context.Context, letters []DeadLetter, entries []deadEntry) ([]DeadLetter, error) {
	const doing = "listing dead letters"
	if len(entries) == 0 {
		return letters, nil
	}
	records, fields := make([]*redis.SliceCmd, len(entries)), InfoFields()
	_, err := d.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, e := range entries {
			records[i] = pipe.HMGet(ctx, d.keys.Record(e.user, e.id), fields...)
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	for i, e := range entries {
		s, err := InfoOf(e.user, e.id, script.ReadFields(fields, records[i].Val()), doing)
		if err != nil {
			return nil, err
		}
		if s.died(e.ended) {
			letters = append(letters, DeadLetter{Info: s})
			continue
		}
		if _, err := d.purge(ctx, e.user, e.id, nothing); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

// deadEntry is an entry of the dead letters of a partition.
type deadEntry struct {
	ended    int64 // Unix ms
	member   string
	user, id string
}

func (e deadEntry) before(o deadEntry) bool {
	return e.ended < o.ended || e.ended == o.ended && e.member < o.member
}

// deadTail reads the rest of a partition's entries. It reads more each time, since most partitions
// are read only once.
type deadTail struct {
	key  string
	user string    // "" for all
	till string    // the end, for ZRANGE
	last deadEntry // of the last read
	next []deadEntry
	size int // of the next read
	done bool
}

const (
	firstRead   = 8
	largestRead = 1024
)

func (t *deadTail) command(ctx context.Context, client redis.Cmdable) *redis.ZSliceCmd {
	return client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: t.key, Start: t.last.ended, Stop: t.till, ByScore: true, Count: int64(t.size),
	})
}

// absorb adds read entries. It skips entries without a message.
func (t *deadTail) absorb(read []redis.Z) {
	t.done = len(read) < t.size
	progress := false
	for _, z := range read {
		member, _ := z.Member.(string)
		e := deadEntry{ended: int64(z.Score), member: member}
		if !t.last.before(e) {
			continue
		}
		t.last, progress = e, true
		var ok bool
		if e.user, e.id, ok = keyspace.ParseDeadLetterMember(member); ok && (t.user == "" || t.user == e.user) {
			t.next = append(t.next, e)
		}
	}
	// A read begins at a time, not after an entry, so all entries of a millisecond must fit into
	// one read.
	if t.size < largestRead || !progress {
		t.size *= 2
	}
}

// deadMerge merges the entries of partitions: a heap of those with entries, ordered by their first.
type deadMerge struct {
	client redis.UniversalClient
	tails  []*deadTail
}

// Len, Less, Swap, Push and Pop are heap.Interface.
func (m *deadMerge) Len() int { return len(m.tails) }

func (m *deadMerge) Less(i, j int) bool { return m.tails[i].next[0].before(m.tails[j].next[0]) }

func (m *deadMerge) Swap(i, j int) { m.tails[i], m.tails[j] = m.tails[j], m.tails[i] }

func (m *deadMerge) Push(x any) {
	if tail, ok := x.(*deadTail); ok {
		m.tails = append(m.tails, tail)
	}
}

func (m *deadMerge) Pop() any {
	last := m.tails[len(m.tails)-1]
	m.tails = m.tails[:len(m.tails)-1]
	return last
}

// merge reads the first entries of each requested partition.
func (d *DeadLetters) merge(ctx context.Context, r DeadLettersRequest) (*deadMerge, error) {
	first, past := 0, keyspace.Partitions
	if r.User != "" {
		if err := keyspace.CheckUser(r.User); err != nil {
			return nil, err
		}
		first = keyspace.Partition(r.User)
		past = first + 1
	}
	till := "+inf"
	if !r.Before.IsZero() {
		till = "(" + strconv.FormatInt(r.Before.UnixMilli(), 10)
	}
	var after deadEntry
	if !r.After.EndedAt.IsZero() {
		after = deadEntry{ended: r.After.EndedAt.UnixMilli(), member: keyspace.DeadLetterMember(r.After.User, r.After.ID)}
	}
	m := &deadMerge{client: d.client}
	tails := make([]*deadTail, 0, past-first)
	for p := first; p < past; p++ {
		tails = append(tails, &deadTail{
			key: d.keys.DeadLetters(p), user: r.User, till: till, last: after, size: firstRead,
		})
	}
	for len(tails) > 0 {
		if err := m.read(ctx, tails); err != nil {
			return nil, err
		}
		var empty []*deadTail // so far: entries may be of other users, or too early
		for _, tail := range tails {
			switch {
			case len(tail.next) > 0:
				m.tails = append(m.tails, tail)
			case !tail.done:
				empty = append(empty, tail)
			}
		}
		tails = empty
	}
	heap.Init(m)
	return m, nil
}

// read reads the next entries of partitions, in one round trip.
func (m *deadMerge) read(ctx context.Context, tails []*deadTail) error {
	reads := make([]*redis.ZSliceCmd, len(tails))
	_, err := m.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, tail := range tails {
			reads[i] = tail.command(ctx, pipe)
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, "listing dead letters")
	}
	for i, tail := range tails {
		tail.absorb(reads[i].Val())
	}
	return nil
}

// take returns the next entries, fewer than count if there are no more.
func (m *deadMerge) take(ctx context.Context, count int) ([]deadEntry, error) {
	var entries []deadEntry
	for len(entries) < count && len(m.tails) > 0 {
		tail := m.tails[0]
		entries = append(entries, tail.next[0])
		tail.next = tail.next[1:]
		for len(tail.next) == 0 && !tail.done {
			if err := m.read(ctx, []*deadTail{tail}); err != nil {
				return nil, err
			}
		}
		if len(tail.next) > 0 {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	return entries, nil
}
