package calendar

import (
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// zoneTables are the time zones in use, and their offsets around a year, which
// take thousands of looks at a zone to find. It is safe for concurrent use. Zones
// and the years that are kept are few, so nothing is ever forgotten.
type ZoneTables struct {
	zones  sync.Map // name -> *time.Location
	tables sync.Map // zoneYear -> *zoneTable
}

// Tables of other years are made anew each time: somebody may ask about any, and
// no send time is in them.
const (
	firstKeptYear  = 1970
	endOfKeptYears = 2200
)

type zoneYear struct {
	zone string
	year int
}

func NewZoneTables() *ZoneTables { return &ZoneTables{} }

// location finds a zone, as parseTimeZone does, which reads a file each time.
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

// TableAt returns a zone's offsets for all that a request about the time at can
// look at: the reach ahead, and a reach and a largest window back.
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

// zoneTable lists, for every stretch in which a zone's offset stays the same, its
// first instant and offset, ascending. The first offset stands for all that is
// earlier, the last for all that is later.
type ZoneTable struct {
	Segments []zoneSegment
	Words    string // as lua/fragments/zone.lua reads them; "" for UTC
}

type zoneSegment struct{ from, Offset int64 } // Unix ms, and ms to add to UTC

// newZoneTable looks at the clock twice a day of [from, to), whole seconds, and
// closes in where it changed: Time.ZoneBounds does not always get past the end of
// a year for which the zone has only a recurring rule.
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

// segment is the number of the segment that an instant is in.
func (t *ZoneTable) Segment(at int64) int {
	following := sort.Search(len(t.Segments), func(i int) bool { return t.Segments[i].from > at })
	return max(following-1, 0)
}

// local is what the clocks show at an instant, in ms as if they were those of UTC.
func (t *ZoneTable) Local(at int64) int64 { return at + t.Segments[t.Segment(at)].Offset }
