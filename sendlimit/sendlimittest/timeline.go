package sendlimittest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// The model reckons in whole Unix milliseconds: an int64 that is a time is
// always that.

// cut turns a time into Unix milliseconds; what is finer is cut off.
func cut(t time.Time) int64 { return t.UnixMilli() }

// cutOr is cut, with instead for the zero time.
func cutOr(t time.Time, instead int64) int64 {
	if t.IsZero() {
		return instead
	}
	return cut(t)
}

// moment is the reverse of cut. It is in UTC.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// span is the half-open interval [from, until).
type span struct{ from, until int64 }

func (s span) contains(t int64) bool { return s.from <= t && t < s.until }

// entry is a reservation: a message's place in its user's timeline.
type entry struct {
	at        int64
	id        string
	category  string
	uncounted bool // no rule counts it
}

func (e entry) reservation() keyspace.Reservation {
	return keyspace.Reservation{ID: e.id, At: moment(e.at)}
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
}

// timeline is one user's reservations, ascending by time, then id. It is
// never changed in place: with and without return another one.
type timeline []entry

// first returns the index of the first entry at t or later.
func (tl timeline) first(t int64) int {
	i, _ := slices.BinarySearchFunc(tl, t, func(e entry, t int64) int { return cmp.Compare(e.at, t) })
	return i
}

// within returns the entries in s.
func (tl timeline) within(s span) timeline { return tl[tl.first(s.from):tl.first(s.until)] }

// find returns the entry of an id.
func (tl timeline) find(id string) (entry, bool) {
	i := slices.IndexFunc(tl, func(e entry) bool { return e.id == id })
	if i < 0 {
		return entry{}, false
	}
	return tl[i], true
}

// with returns the timeline with one entry more.
func (tl timeline) with(e entry) timeline {
	i, _ := slices.BinarySearchFunc(tl, e, compareEntries)
	return slices.Concat(tl[:i], timeline{e}, tl[i:])
}

// without returns the timeline without the entry of an id.
func (tl timeline) without(id string) timeline {
	return slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return e.id == id })
}

// of returns the entries of a category.
func (tl timeline) of(category string) timeline {
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

// reservations returns the entries as callers see them, nil for none.
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
