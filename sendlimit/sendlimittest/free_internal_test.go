package sendlimittest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The searches hop from edge to edge; here every millisecond is judged, by
// counting every window there is.
func TestSearchesAgainstEveryMillisecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const length = 130_000 // ms
		tl := drawTimeline(t, length)
		rs := drawRules(t)
		forbidden := make([]bool, length)
		for _, r := range rs {
			forbid(forbidden, r, tl)
		}
		next := func(from int64) (int64, bool) {
			for at := from; at < length; at++ {
				if !forbidden[at] {
					return at, true
				}
			}
			return 0, false
		}
		previous := func(from int64) (int64, bool) {
			for at := from; at >= 0; at-- {
				if !forbidden[at] {
					return at, true
				}
			}
			return 0, false
		}
		for at := int64(1); at < length; at++ {
			// Both sides of each change, and some between.
			if forbidden[at] != forbidden[at-1] || at%1009 == 0 {
				require.Equal(t, forbidden[at-1], !rs.allow(tl, at-1), "at %d", at-1)
				require.Equal(t, forbidden[at], !rs.allow(tl, at), "at %d", at)
			}
		}
		for range 10 {
			from := rapid.Int64Range(0, length-1).Draw(t, "from")
			wanted, ok := next(from)
			got, found := rs.nextFree(tl, from, length-1)
			require.Equal(t, ok, found, "next free from %d", from)
			require.Equal(t, wanted, got, "next free from %d", from)

			wanted, ok = previous(from)
			got, found = rs.previousFree(tl, from, 0)
			require.Equal(t, ok, found, "previous free from %d", from)
			require.Equal(t, wanted, got, "previous free from %d", from)
		}
		for _, s := range rs.freeSpans(tl, span{0, length}) {
			require.Less(t, s.from, s.until)
			require.True(t, s.from == 0 || forbidden[s.from-1], "longest: %v", s)
			require.True(t, s.until == length || forbidden[s.until], "longest: %v", s)
			for at := s.from; at < s.until; at++ {
				require.False(t, forbidden[at], "%d of %v", at, s)
				forbidden[at] = true
			}
		}
		_, left := next(0)
		require.False(t, left, "all free times are in a span")
	})
}

// The conflicts are what any overfull window holds, whatever it starts at, and
// the usage is the most that any holds.
func TestWindowsAgainstEveryStart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const length = 20_000 // ms
		tl := drawTimeline(t, length)
		r := rule{Rule: drawSliding(t)}
		at := rapid.Int64Range(0, length).Draw(t, "at")

		window := r.Window.Milliseconds()
		most, earliest := 0, at
		inTheWay := make(map[entry]bool)
		for x := at - window + 1; x <= at; x++ {
			held := tl.within(span{x, x + window})
			if len(held) > most {
				most, earliest = len(held), x
			}
			if len(held) < r.Limit {
				continue
			}
			for _, e := range held {
				inTheWay[e] = true
			}
		}
		var wanted []sendlimit.Reservation
		for _, e := range tl {
			if inTheWay[e] && len(wanted) < sendlimit.MaxConflicts {
				wanted = append(wanted, e.reservation())
			}
		}
		v, broken := r.violation(tl, at)
		require.Equal(t, len(inTheWay) > 0, broken)
		require.Equal(t, wanted, v.Conflicts)
		require.Equal(t, len(inTheWay), v.ConflictsTotal)

		u := r.usage(tl, at)
		require.Equal(t, most, u.Used)
		require.Equal(t, window, cut(u.Until)-cut(u.From))
		// Of windows with the same content the last one is named, the one that
		// starts at its first reservation.
		require.GreaterOrEqual(t, cut(u.From), earliest)
		require.Equal(t, tl.within(span{earliest, earliest + window}), tl.within(span{cut(u.From), cut(u.Until)}))
	})
}

// forbid marks the milliseconds at which a send would break a rule.
func forbid(forbidden []bool, r rule, tl timeline) {
	length := int64(len(forbidden))
	size, step := r.Window.Milliseconds(), int64(1)
	if r.Calendar() { // minutes, in UTC, from 0
		size = time.Minute.Milliseconds()
		step = size
	}
	first, next, marked := 0, 0, int64(0)
	for x := step - size; x < length; x += step {
		for next < len(tl) && tl[next].at < x+size {
			next++
		}
		for first < len(tl) && tl[first].at < x {
			first++
		}
		if next-first < r.Limit {
			continue
		}
		for marked = max(marked, x, 0); marked < min(x+size, length); marked++ {
			forbidden[marked] = true
		}
	}
}

// drawTimeline draws reservations as no rules would have let them in: a
// lowered limit can leave a timeline like that.
func drawTimeline(t *rapid.T, length int64) timeline {
	// Coarse times often collide, touch, or are a whole window apart.
	grid := rapid.SampledFrom([]int64{1, 500, 1000}).Draw(t, "grid")
	var tl timeline
	for range rapid.IntRange(0, 25).Draw(t, "reservations") {
		at := rapid.Int64Range(0, length/grid).Draw(t, "at") * grid
		id := rapid.StringMatching(`[a-z]{3}`).Draw(t, "id")
		tl = tl.without(id).with(entry{at, id})
	}
	return tl
}

func drawSliding(t *rapid.T) sendlimit.Rule {
	return sendlimit.Rule{
		Limit:  rapid.IntRange(1, 4).Draw(t, "limit"),
		Window: time.Duration(rapid.IntRange(1, 15).Draw(t, "window")) * time.Second,
	}
}

func drawRules(t *rapid.T) rules {
	var rs rules
	for range rapid.IntRange(0, 2).Draw(t, "sliding rules") {
		rs = append(rs, rule{Rule: drawSliding(t)})
	}
	if len(rs) == 0 || rapid.Bool().Draw(t, "calendar rule") {
		limit := rapid.IntRange(1, 8).Draw(t, "limit a minute")
		rs = append(rs, rule{Rule: sendlimit.Rule{Limit: limit, Period: sendlimit.Minute}, zone: time.UTC})
	}
	return rs
}
