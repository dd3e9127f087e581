package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// seed makes every run use the same times in the same order.
const seed = 1

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// userName returns the name of the i-th user, 10 characters.
func userName(i int) string { return fmt.Sprintf("user%06d", i) }

// newID makes an id as the product does: a UUIDv7 of 36 characters.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

const week = 7 * 24 * time.Hour

// apart is the least distance of two send times of a user: no rule of the default
// policy refuses one, if a user has no more than a day's limit.
const apart = 2 * time.Hour

// schedule has the send times of users, at random in a span.
type schedule struct {
	start   time.Time
	order   []int             // the users, shuffled
	offsets [][]time.Duration // for each user
}

// newSchedule gives each of the users up to 10 send times, in a week that begins in an
// hour.
func newSchedule(users, each int) *schedule {
	random := newRandom()
	s := &schedule{
		start:   time.Now().Add(time.Hour).Truncate(time.Millisecond),
		order:   random.Perm(users),
		offsets: make([][]time.Duration, users),
	}
	for u := range s.offsets {
		offsets := make([]time.Duration, 0, each)
		for len(offsets) < each {
			offset := time.Duration(random.Int64N(week.Milliseconds())) * time.Millisecond
			if farFrom(offsets, offset) {
				offsets = append(offsets, offset)
			}
		}
		s.offsets[u] = offsets
	}
	return s
}

// over spreads the send times over another span than a week.
func (s *schedule) over(span time.Duration) *schedule {
	for _, offsets := range s.offsets {
		for i := range offsets {
			offsets[i] = time.Duration(float64(offsets[i]) * (float64(span) / float64(week))).Truncate(time.Millisecond)
		}
	}
	return s
}

func farFrom(offsets []time.Duration, offset time.Duration) bool {
	for _, other := range offsets {
		if (offset - other).Abs() < apart {
			return false
		}
	}
	return true
}

// request returns the i-th request: first every user's first time, in the shuffled
// order, then every user's second, and so on.
func (s *schedule) request(i int) sendlimit.Request {
	user := s.order[i%len(s.order)]
	return sendlimit.Request{
		User: userName(user), ID: newID(),
		At: s.start.Add(s.offsets[user][i/len(s.order)]),
	}
}

// turns iterates over a schedule.
type turns struct {
	*schedule
	taken int
}

// take returns the next n requests.
func (t *turns) take(n int) []sendlimit.Request {
	requests := make([]sendlimit.Request, n)
	for i := range requests {
		requests[i] = t.request(t.taken + i)
	}
	t.taken += n
	return requests
}

// takeFirst returns the next n of the users' first requests, and starts again at the
// end.
func (t *turns) takeFirst(n int) []sendlimit.Request {
	requests := make([]sendlimit.Request, n)
	for i := range requests {
		requests[i] = t.request((t.taken + i) % len(t.order))
	}
	t.taken += n
	return requests
}

// withRecords adds to each request what a timeline with records needs: a generation and
// a fingerprint, no content.
func withRecords(requests []sendlimit.Request) []sendlimit.Request {
	for i := range requests {
		requests[i].Record = &sendlimit.Record{
			Generation: keyspace.NewToken(), Fingerprint: fmt.Sprintf("fingerprint%05d", i%100_000),
		}
	}
	return requests
}
