package sendlimittest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Times in the model are Unix milliseconds, as int64.

// cut converts a time to Unix milliseconds. It cuts off fractions.
func cut(t time.Time) int64 { return t.UnixMilli() }

// cutOr is like cut. It returns instead for the zero time.
func cutOr(t time.Time, instead int64) int64 {
	if t.IsZero() {
		return instead
	}
	return cut(t)
}

// moment converts Unix milliseconds to a time in UTC.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// span is the half-open interval [from, until).
type span struct{ from, until int64 }

func (s span) contains(t int64) bool { return s.from <= t && t < s.until }

// entry is a reservation in a user's timeline.
type entry struct {
	at        int64
	id        string
	category  string
	account   string
	uncounted bool // no rule counts it
	taken     bool // a free time that was found: counted and uncounted
}

func (e entry) reservation() keyspace.Reservation {
	return keyspace.Reservation{ID: e.id, At: moment(e.at)}
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
}

// timeline is one user's reservations, ascending by time, then id. It is never
// changed in place: add and remove return another one.
type timeline []entry

// first returns the index of the first entry at t or later.
func (tl timeline) first(t int64) int {
	i, _ := slices.BinarySearchFunc(tl, t, func(e entry, t int64) int { return cmp.Compare(e.at, t) })
	return i
}

// within returns the entries in s.
func (tl timeline) within(s span) timeline { return tl[tl.first(s.from):tl.first(s.until)] }

// find returns the entry with an id.
func (tl timeline) find(id string) (entry, bool) {
	i := slices.IndexFunc(tl, func(e entry) bool { return e.id == id })
	if i < 0 {
		return entry{}, false
	}
	return tl[i], true
}

// add returns the timeline with an additional entry.
func (tl timeline) add(e entry) timeline {
	i, _ := slices.BinarySearchFunc(tl, e, compareEntries)
	return slices.Concat(tl[:i], timeline{e}, tl[i:])
}

// remove returns the timeline without the entry with an id.
func (tl timeline) remove(id string) timeline {
	return slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return e.id == id })
}

// ofCategory returns the entries of a category.
func (tl timeline) ofCategory(category string) timeline {
	return slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return e.category != category })
}

// counted returns the entries that rules count.
func (tl timeline) counted() timeline {
	uncounted := func(e entry) bool { return e.uncounted }
	if !slices.ContainsFunc(tl, uncounted) {
		return tl
	}
	return slices.DeleteFunc(slices.Clone(tl), uncounted)
}

// since returns the entries at t or later.
func (tl timeline) since(t int64) timeline { return tl[tl.first(t):] }

// reservations converts the entries, nil for none.
func (tl timeline) reservations() []keyspace.Reservation {
	if len(tl) == 0 {
		return nil
	}
	rs := make([]keyspace.Reservation, len(tl))
	for i, e := range tl {
		rs[i] = e.reservation()
	}
	return rs
}
