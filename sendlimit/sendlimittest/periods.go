package sendlimittest

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// maxAhead is larger than the offset of any zone from UTC.
const maxAhead = 26 * time.Hour

// periodAt returns the natural period that contains t in a zone.
func periodAt(period calendar.Period, zone *time.Location, t int64) span {
	local := time.UnixMilli(t).In(zone)
	if period == calendar.Minute || period == calendar.Hour {
		return clockPeriod(period, local)
	}
	return datePeriod(period, local)
}

// clockPeriod returns the minute or hour of the local clock that contains t. It
// ends at clock changes: an hour in which the clock jumps is two periods, and so
// is an hour that the clock shows twice.
func clockPeriod(period calendar.Period, t time.Time) span {
	length := time.Minute
	if period == calendar.Hour {
		length = time.Hour
	}
	// Truncate counts from the zero time in UTC. With the offset added it
	// finds a full hour of the local clock.
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

// datePeriod returns the day, ISO week or month that contains t. It begins when
// the local clock first reaches its first midnight, and ends when the next period
// begins.
//
// Clocks may change around midnight. If the clock jumps over midnight, the period
// begins at the end of the jump. If the clock is put back at midnight, it reaches
// midnight an hour later, and the repeated hour belongs to the earlier day. If the
// clock shows midnight twice, the first one counts.
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
	// start returns the start of the n-th period after the one of t's date. A
	// date has no zone: UTC is used for the local clock.
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
	// The clock may show an earlier date again after a later one. t belongs to
	// the latest period that has started.
	n := 2
	for start(n).After(t) {
		n--
	}
	return span{start(n).UnixMilli(), start(n + 1).UnixMilli()}
}

// firstShown returns the first instant at which a zone's clock shows wall, or a
// later time if it jumps over wall.
func firstShown(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-maxAhead).In(zone)
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

// offsetAt returns the offset of t's zone from UTC.
func offsetAt(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// clockChangeAfter returns the first instant after t at which the offset of t's
// zone changes. Some bounds of a zone do not change the offset: those of a new
// abbreviation, and the turn of a year.
func clockChangeAfter(t time.Time) (time.Time, bool) {
	for bound := t; ; {
		_, next := bound.ZoneBounds()
		if next.IsZero() {
			return time.Time{}, false
		}
		if !next.After(bound) {
			// After its tables, package time ends a zone with the year, but
			// counts 365 days for every year.
			next = time.Date(bound.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).In(t.Location())
		}
		bound = next
		if offsetAt(bound) != offsetAt(t) {
			return bound, true
		}
	}
}

// clockChangeBefore returns the instant from which t's zone has had the offset of
// t. It is the zero time if there was no change before.
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
