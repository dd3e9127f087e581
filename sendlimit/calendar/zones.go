package calendar

import (
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ZoneTables caches time zones and their tables of offsets by year: building a table takes
// thousands of look-ups. Nothing is ever dropped, since zones and years are few. It is safe for
// concurrent use. The zero value is empty.
type ZoneTables struct {
	zones  sync.Map // name -> *time.Location
	tables sync.Map // zoneYear -> *zoneTable
}

// Only tables of these years are kept. Callers may ask for any year, but all send times are in
// these.
const (
	firstKeptYear  = 1970
	endOfKeptYears = 2200
)

type zoneYear struct {
	zone string
	year int
}

// Location is ParseTimeZone with a cache: ParseTimeZone reads a file each time.
func (z *ZoneTables) Location(name string) (*time.Location, error) {
	if zone, ok := z.zones.Load(name); ok {
		return zone.(*time.Location), nil //nolint:forcetypeassert // nothing else is stored
	}
	zone, err := ParseTimeZone(name)
	if err == nil {
		z.zones.Store(name, zone)
	}
	return zone, err
}

// TableAt returns the offsets of a zone for all times that a request about the time at can look at:
// two years back and two years ahead of its year.
func (z *ZoneTables) TableAt(zone *time.Location, at time.Time) *ZoneTable {
	key := zoneYear{zone: zone.String(), year: at.UTC().Year()}
	if table, ok := z.tables.Load(key); ok {
		return table.(*ZoneTable) //nolint:forcetypeassert // nothing else is stored
	}
	table := newZoneTable(zone,
		time.Date(key.year-2, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(key.year+3, 1, 1, 0, 0, 0, 0, time.UTC))
	if key.year >= firstKeptYear && key.year < endOfKeptYears {
		z.tables.Store(key, table)
	}
	return table
}

// ZoneTable lists the segments in which a zone's offset stays the same, in order. The first offset
// also applies to earlier times, the last one to later times.
type ZoneTable struct {
	Segments []zoneSegment
	Words    string // as lua/judge/zone.lua reads them; "" for UTC
}

type zoneSegment struct{ from, Offset int64 } // Unix ms, and ms to add to UTC

// newZoneTable builds the table for [from, to), which are whole seconds. It compares the offset
// every 12 hours and searches for the second at which it changed. It does not use Time.ZoneBounds,
// which sometimes fails to get past the end of a year for which the zone has only a recurring rule.
func newZoneTable(zone *time.Location, from, to time.Time) *ZoneTable {
	const step = 12 * time.Hour
	offsetAt := func(at time.Time) int {
		_, offset := at.In(zone).Zone()
		return offset
	}
	table := &ZoneTable{}
	add := func(at time.Time, offset int) {
		table.Segments = append(table.Segments, zoneSegment{at.UnixMilli(), int64(offset) * 1000})
	}
	offset := offsetAt(from)
	add(from, offset)
	for at := from; at.Before(to); at = at.Add(step) {
		following := offsetAt(at.Add(step))
		if following == offset {
			continue
		}
		seconds := sort.Search(int(step/time.Second), func(s int) bool {
			return offsetAt(at.Add(time.Duration(s)*time.Second)) != offset
		})
		offset = following
		add(at.Add(time.Duration(seconds)*time.Second), offset)
	}
	if zone == time.UTC {
		return table
	}
	words := make([]string, 0, 2*len(table.Segments))
	for _, s := range table.Segments {
		words = append(words, strconv.FormatInt(s.from, 10), strconv.FormatInt(s.Offset, 10))
	}
	table.Words = strings.Join(words, " ")
	return table
}

// Segment returns the index of the segment that contains an instant.
func (t *ZoneTable) Segment(at int64) int {
	following := sort.Search(len(t.Segments), func(i int) bool { return t.Segments[i].from > at })
	return max(following-1, 0)
}

// Local returns the time that local clocks show at an instant, in ms as if it were UTC.
func (t *ZoneTable) Local(at int64) int64 { return at + t.Segments[t.Segment(at)].Offset }
