package sendlimittest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// The searches judge edges only. This test judges every millisecond by counting
// all windows and reading the local clock.
func TestSearchesAgainstEveryMillisecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const length = 130_000 // ms
		q, first := drawQuiet(t)
		tl := drawTimeline(t, first, length)
		rs := terms{rules: drawRules(t), quiet: q}
		forbidden := make([]bool, length)
		for _, r := range rs.rules {
			forbid(forbidden, r, first, tl)
		}
		disturbed := false
		for at := range forbidden {
			if now := first + int64(at); at == 0 || now%1000 == 0 { // clocks change, and quiet hours begin, at whole seconds
				disturbed = q.covers(now)
			}
			forbidden[at] = forbidden[at] || disturbed
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
			// Both sides of each change, and some times between.
			if forbidden[at] != forbidden[at-1] || at%1009 == 0 {
				require.Equal(t, forbidden[at-1], !rs.allow(tl, first+at-1), "at %d", at-1)
				require.Equal(t, forbidden[at], !rs.allow(tl, first+at), "at %d", at)
			}
		}
		for range 10 {
			from := rapid.Int64Range(0, length-1).Draw(t, "from")
			wanted, ok := next(from)
			got, found := rs.nextFree(tl, first+from, first+length-1)
			require.Equal(t, ok, found, "next free from %d", from)
			require.True(t, !found || got == first+wanted, "next free from %d", from)

			wanted, ok = previous(from)
			got, found = rs.previousFree(tl, first+from, first)
			require.Equal(t, ok, found, "previous free from %d", from)
			require.True(t, !found || got == first+wanted, "previous free from %d", from)
		}
		for _, s := range rs.freeSpans(tl, span{first, first + length}) {
			s = span{s.from - first, s.until - first}
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

// The conflicts are the reservations of all overfull windows, and the usage is
// that of the fullest.
func TestWindowsAgainstEveryStart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const length = 20_000 // ms
		tl := drawTimeline(t, 0, length)
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
		var wanted []keyspace.Reservation
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
		// Of windows with the same content the last one is returned. It starts
		// at its first reservation.
		require.GreaterOrEqual(t, cut(u.From), earliest)
		require.Equal(t, tl.within(span{earliest, earliest + window}), tl.within(span{cut(u.From), cut(u.Until)}))
	})
}

// forbid marks the milliseconds, counted from first, at which a send would
// break a rule.
func forbid(forbidden []bool, r rule, first int64, tl timeline) {
	tl = slices.DeleteFunc(slices.Clone(tl), func(e entry) bool { return r.category != "" && e.category != r.category })
	length := int64(len(forbidden))
	size, step := r.Window.Milliseconds(), int64(1)
	if r.Calendar() { // minutes, in UTC
		size = time.Minute.Milliseconds()
		step = size
	}
	earliest, next, marked := 0, 0, int64(0)
	for x := first/step*step - size; x < first+length; x += step {
		for next < len(tl) && tl[next].at < x+size {
			next++
		}
		for earliest < len(tl) && tl[earliest].at < x {
			earliest++
		}
		if next-earliest < r.Limit {
			continue
		}
		for marked = max(marked, x-first, 0); marked < min(x+size-first, length); marked++ {
			forbidden[marked] = true
		}
	}
}

// drawTimeline draws reservations that may break the rules, as after a lowered
// limit.
func drawTimeline(t *rapid.T, first, length int64) timeline {
	// Coarse times are often equal, adjacent, or a whole window apart.
	grid := rapid.SampledFrom([]int64{1, 500, 1000}).Draw(t, "grid")
	var tl timeline
	for range rapid.IntRange(0, 25).Draw(t, "reservations") {
		at := first + rapid.Int64Range(0, length/grid).Draw(t, "at")*grid
		id := rapid.StringMatching(`[a-z]{3}`).Draw(t, "id")
		category := rapid.SampledFrom([]string{"", "marketing"}).Draw(t, "category")
		tl = tl.remove(id).add(entry{at: at, id: id, category: category})
	}
	return tl
}

// drawQuiet draws quiet hours, often none, and a time about a minute before a
// change: their beginning or end, midnight, the end of a week, a clock change,
// or several of these.
func drawQuiet(t *rapid.T) (quiet, int64) {
	around := rapid.SampledFrom([]struct{ zone, at string }{
		{"UTC", "2026-11-23T00:00:00Z"},                 // a week begins
		{"Asia/Kolkata", "2026-11-22T18:30:00Z"},        // and there
		{"Europe/Berlin", "2026-03-29T01:00:00Z"},       // 02:00 becomes 03:00
		{"Europe/Berlin", "2026-10-25T01:00:00Z"},       // 03:00 becomes 02:00
		{"America/Santiago", "2026-09-06T04:00:00Z"},    // 00:00 becomes 01:00
		{"America/Santiago", "2026-04-05T03:00:00Z"},    // 00:00 becomes 23:00
		{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, // 02:00 becomes 01:30
		{"Pacific/Apia", "2011-12-30T10:00:00Z"},        // Friday is left out
	}).Draw(t, "around")
	zone, err := calendar.ParseTimeZone(around.zone)
	require.NoError(t, err)
	change, err := time.Parse(time.RFC3339, around.at)
	require.NoError(t, err)
	first := change.Add(-time.Minute).UnixMilli() + rapid.Int64Range(-2000, 2000).Draw(t, "shifted")
	var lines []string
	for range rapid.IntRange(0, 3).Draw(t, "lines") {
		// Times that the clock shows on either side of the change.
		near := change.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "minutes")) * time.Minute).In(zone)
		lasts := rapid.SampledFrom([]time.Duration{time.Minute, 2 * time.Minute, 8 * time.Hour}).Draw(t, "lasts")
		if rapid.Bool().Draw(t, "ends there") {
			near = near.Add(-lasts)
		}
		days := rapid.SampledFrom([]string{"", "sun ", "mon ", "sat,sun ", "fri-mon "}).Draw(t, "days")
		clock := time.Time{}.Add(timeOfDay(near.Hour(), near.Minute()))
		lines = append(lines, days+clock.Format("15:04")+"-"+clock.Add(lasts).Format("15:04"))
	}
	q, err := parseQuiet(zone, lines, nil, nil)
	require.NoError(t, err)
	return q, first
}

func drawSliding(t *rapid.T) policy.Rule {
	return policy.Rule{
		Limit:  rapid.IntRange(1, 4).Draw(t, "limit"),
		Window: time.Duration(rapid.IntRange(1, 15).Draw(t, "window")) * time.Second,
	}
}

func drawRules(t *rapid.T) []rule {
	var rs []rule
	for range rapid.IntRange(0, 2).Draw(t, "sliding rules") {
		rs = append(rs, rule{Rule: drawSliding(t), category: rapid.SampledFrom([]string{"", "marketing"}).Draw(t, "of")})
	}
	if len(rs) == 0 || rapid.Bool().Draw(t, "calendar rule") {
		limit := rapid.IntRange(1, 8).Draw(t, "limit a minute")
		rs = append(rs, rule{Rule: policy.Rule{Limit: limit, Period: calendar.Minute}, zone: time.UTC})
	}
	return rs
}
