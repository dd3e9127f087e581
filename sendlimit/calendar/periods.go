package calendar

import (
	"math"
	"time"
)

// ChargedPeriods returns the hour and the day of a zone to which a send time is charged. They are
// the periods of calendar rules, see lua/judge/rules.lua.
func ChargedPeriods(zone *time.Location, at time.Time) (hour, day Stretch) {
	const around = 60 * time.Hour // two days, and the longest jump of any zone's clocks
	table := &ZoneTable{Segments: []zoneSegment{{}}}
	if zone != time.UTC {
		middle := at.Truncate(time.Second)
		table = newZoneTable(zone, middle.Add(-around), middle.Add(around))
	}
	return stretch(table.PeriodAt(Hour, at.UnixMilli())), stretch(table.PeriodAt(Day, at.UnixMilli()))
}

// PeriodAt returns the natural period that contains an instant, as calendar rules count it, see
// lua/judge/zone.lua. All times are in Unix ms; until is the first instant after the period. A
// minute or an hour ends where the clocks change. A day, week or month ends with the first instant
// of the next one.
func (t *ZoneTable) PeriodAt(p Period, at int64) (from, until int64) {
	segment := t.Segment(at)
	offset := t.Segments[segment].Offset
	local := at + offset
	if p == Minute || p == Hour {
		length := p.Longest().Milliseconds()
		from = local - remainder(local, length) - offset
		return max(from, t.BeginOf(segment)), min(from+length, t.EndOf(segment))
	}
	start, following := localPeriod(p, local)
	from, until = t.instant(start), t.instant(following)
	for at >= until {
		_, following = localPeriod(p, following)
		from, until = until, t.instant(following)
	}
	return from, until
}

// instant returns the first instant at which local clocks show a time or later.
func (t *ZoneTable) instant(local int64) int64 {
	for i, segment := range t.Segments {
		if u := max(local-segment.Offset, t.BeginOf(i)); u < t.EndOf(i) {
			return u
		}
	}
	return math.MaxInt64 // the last segment has no end
}

// localPeriod returns the local start of the day, week or month of a local time, and of the next
// one.
func localPeriod(p Period, local int64) (start, following int64) {
	const day, week = int64(DayLong / time.Millisecond), int64(WeekLong / time.Millisecond)
	const monday = 4 * day // 5 January 1970
	switch p {
	case Week:
		start = local - remainder(local-monday, week)
		return start, start + week
	case Month:
		year, month, _ := time.UnixMilli(local).UTC().Date()
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	case NoPeriod, Minute, Hour, Day:
	}
	start = local - remainder(local, day)
	return start, start + day
}

// remainder returns the remainder of a division that rounds down, so that it is right before 1970
// too.
func remainder(n, by int64) int64 { return ((n % by) + by) % by }

func stretch(from, until int64) Stretch {
	return Stretch{From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC()}
}
