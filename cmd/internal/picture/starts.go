package picture

import "time"

// day is a day without a clock change.
const day = 24 * time.Hour

// width returns the nth width that buckets may have, ascending.
func width(n int) time.Duration {
	round := []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
		day, 2 * day, 7 * day, 28 * day,
	}
	if n < len(round) {
		return round[n]
	}
	return round[len(round)-1] << (n - len(round) + 1)
}

// startsOf returns the width of buckets in the zone of first, and their starts: from the
// bucket with first to the bucket with last, and the end of that.
func startsOf(first, last time.Time) (time.Duration, []time.Time) {
	for n := 0; ; n++ {
		w := width(n)
		beginnings := byElapsed
		if w > time.Hour {
			beginnings = byClock
		}
		start := beginnings(first, w)
		starts := []time.Time{start(0)}
		for i := 1; len(starts) <= most; i++ {
			next := start(i)
			if !next.After(starts[len(starts)-1]) {
				continue // clocks skip all of it
			}
			if starts = append(starts, next); next.After(last) {
				return w, starts
			}
		}
	}
}

// byElapsed returns the starts of buckets of at most an hour, from the one with first on.
// An hour that clocks repeat is two buckets.
func byElapsed(first time.Time, w time.Duration) func(i int) time.Time {
	// By the zone's clock: its offset need not be whole hours.
	into := time.Duration(first.Minute())*time.Minute + time.Duration(first.Second())*time.Second + time.Duration(first.Nanosecond())
	start := first.Add(-into % w)
	return func(i int) time.Time { return start.Add(time.Duration(i) * w) }
}

// byClock returns the starts of longer buckets by what clocks show: 0:00, 6:00 and so on,
// across clock changes.
func byClock(first time.Time, w time.Duration) func(i int) time.Time {
	year, month, date := first.Date()
	hour := 0
	switch {
	case w < day:
		hours := int(w / time.Hour)
		hour = first.Hour() / hours * hours
	case w >= 7*day:
		date -= (int(first.Weekday()) + 6) % 7 // Monday
	}
	// As if in UTC, which has no clock changes.
	shown := time.Date(year, month, date, hour, 0, 0, 0, time.UTC)
	return func(i int) time.Time { return showing(shown.Add(time.Duration(i)*w), first.Location()) }
}

// showing returns when clocks in the zone first show a time, or when they skip it.
func showing(clock time.Time, zone *time.Location) time.Time {
	t := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), 0, 0, 0, zone)
	_, offset := t.Zone()
	if shown := t.Add(time.Duration(offset) * time.Second); shown.Before(clock) {
		return t.Add(clock.Sub(shown))
	}
	return t
}
