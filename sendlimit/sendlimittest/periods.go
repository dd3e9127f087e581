package sendlimittest

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// mostAhead is more than any zone's clock has ever been ahead of or behind
// UTC.
const mostAhead = 26 * time.Hour

// periodAt returns the natural period of a zone that t is in.
func periodAt(period calendar.Period, zone *time.Location, t int64) span {
	local := time.UnixMilli(t).In(zone)
	if period == calendar.Minute || period == calendar.Hour {
		return clockPeriod(period, local)
	}
	return datePeriod(period, local)
}

// clockPeriod returns the minute or hour of the local clock that t is in, cut
// at clock changes: an hour in which the clock jumps is two periods, and so
// is an hour that the clock shows twice.
func clockPeriod(period calendar.Period, t time.Time) span {
	length := time.Minute
	if period == calendar.Hour {
		length = time.Hour
	}
	// Truncate counts from the zero time in UTC, so the offset has to be
	// added for it to find a full hour of the local clock.
	offset := offsetAt(t)
	start := t.Add(offset).Truncate(length).Add(-offset)
	end := start.Add(length)
	if changed := clockChangeBefore(t); start.Before(changed) {
		start = changed
	}
	if changes, ok := clockChangeAfter(t); ok && changes.Before(end) {
		end = changes
	}
	return span{start.UnixMilli(), end.UnixMilli()}
}

// datePeriod returns the day, ISO week or month that t is in: from the first
// instant at which the local clock has reached its first midnight to the same
// of the next one.
//
// The first instant matters where clocks change around midnight. A midnight
// that the clock jumps over is reached where the jump ends. A clock put back
// as it strikes midnight reaches it an hour later, so that the repeated hour
// is the earlier day's. Of a midnight shown twice the first counts.
func datePeriod(period calendar.Period, t time.Time) span {
	year, month, day := t.Date()
	switch period {
	case calendar.Week:
		daysSinceMonday := (int(t.Weekday()) + 6) % 7
		day -= daysSinceMonday
	case calendar.Month:
		day = 1
	case calendar.NoPeriod, calendar.Minute, calendar.Hour, calendar.Day:
	}
	// start is when the n-th period after the one of t's date starts. A date
	// has no zone: UTC stands for the clock on the wall.
	start := func(n int) time.Time {
		wall := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		switch period {
		case calendar.Week:
			wall = wall.AddDate(0, 0, 7*n)
		case calendar.Month:
			wall = wall.AddDate(0, n, 0)
		case calendar.NoPeriod, calendar.Minute, calendar.Hour, calendar.Day:
			wall = wall.AddDate(0, 0, n)
		}
		return firstShown(wall, t.Location())
	}
	// The clock may show an earlier date again after it has shown a later
	// one, so it is the latest period to have started by t.
	n := 2
	for start(n).After(t) {
		n--
	}
	return span{start(n).UnixMilli(), start(n + 1).UnixMilli()}
}

// firstShown returns the first instant at which the clock on a zone's wall
// shows wall, or more where it jumps over it.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-mostAhead).In(zone)
	for {
		shown := wall.Add(-offsetAt(t))
		if shown.Before(t) {
			return t
		}
		change, ok := clockChangeAfter(t)
		if !ok || shown.Before(change) {
			return shown.In(zone)
		}
		t = change
	}
}

// offsetAt returns how far the clock is ahead of UTC.
func offsetAt(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// clockChangeAfter returns the first instant after t from which t's zone has
// another offset. A zone's bounds that leave the offset as it is (another
// name, or the turn of the year) are no change of the clock.
func clockChangeAfter(t time.Time) (time.Time, bool) {
	for bound := t; ; {
		_, next := bound.ZoneBounds()
		if next.IsZero() {
			return time.Time{}, false
		}
		if !next.After(bound) {
			// Past its tables, package time has a zone end with the year, but
			// takes every year to have 365 days.
			next = time.Date(bound.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).In(t.Location())
		}
		bound = next
		if offsetAt(bound) != offsetAt(t) {
			return bound, true
		}
	}
}

// clockChangeBefore returns the instant from which t's zone has had t's
// offset; the zero time for always.
func clockChangeBefore(t time.Time) time.Time {
	for bound := t; ; {
		bound, _ = bound.ZoneBounds()
		if bound.IsZero() {
			return time.Time{}
		}
		before := bound.Add(-1)
		if offsetAt(before) != offsetAt(t) {
			return bound
		}
		bound = before
	}
}
