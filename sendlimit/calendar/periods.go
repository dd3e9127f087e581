package calendar

import (
	"math"
	"time"
)

// ChargedPeriods returns the hour and the day of a zone that a send time is charged to.
// They are the same as those of calendar rules, see lua/fragments/policy.lua.
func ChargedPeriods(zone *time.Location, at time.Time) (hour, day Stretch) {
	const around = 60 * time.Hour // two days, and the longest jump of any zone's clocks
	offsets := zoneOffsets{{from: math.MinInt64}}
	if zone != time.UTC {
		middle := at.Truncate(time.Second)
		offsets = newZoneTable(zone, middle.Add(-around), middle.Add(around)).Segments
		offsets[0].from = math.MinInt64
	}
	return offsets.hour(at.UnixMilli()), offsets.day(at.UnixMilli())
}

// zoneOffsets are the segments in which a zone's offset stays the same, in ms. The first
// one has no beginning, the last one no end.
type zoneOffsets []zoneSegment

// at returns the index of the segment that contains an instant.
func (z zoneOffsets) at(t int64) int {
	i := len(z) - 1
	for z[i].from > t {
		i--
	}
	return i
}

// ends returns the first instant after a segment.
func (z zoneOffsets) ends(i int) int64 {
	if i+1 < len(z) {
		return z[i+1].from
	}
	return math.MaxInt64
}

// instant returns the first instant at which local clocks show a time or later.
func (z zoneOffsets) instant(local int64) int64 {
	for i, stretch := range z {
		if u := max(local-stretch.Offset, stretch.from); u < z.ends(i) {
			return u
		}
	}
	return math.MaxInt64 // the last segment has no end
}

// hour returns the hour that contains an instant. It ends where the clocks change.
func (z zoneOffsets) hour(t int64) Stretch {
	const hour = int64(time.Hour / time.Millisecond)
	i := z.at(t)
	local := t + z[i].Offset
	from := local - remainder(local, hour) - z[i].Offset
	return stretch(max(from, z[i].from), min(from+hour, z.ends(i)))
}

// day returns the day that contains an instant. It ends at the first instant of the
// next day.
func (z zoneOffsets) day(t int64) Stretch {
	const day = int64(DayLong / time.Millisecond)
	local := t + z[z.at(t)].Offset
	start := local - remainder(local, day)
	from, until := z.instant(start), z.instant(start+day)
	for t >= until {
		start += day
		from, until = until, z.instant(start+day)
	}
	return stretch(from, until)
}

// remainder returns the remainder of a division that rounds down, so that it is right
// before 1970 too.
func remainder(n, by int64) int64 { return ((n % by) + by) % by }

func stretch(from, until int64) Stretch {
	return Stretch{From: time.UnixMilli(from).UTC(), Until: time.UnixMilli(until).UTC()}
}
