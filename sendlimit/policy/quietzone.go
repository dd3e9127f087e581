package policy

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

const (
	minuteMs = int64(time.Minute / time.Millisecond)
	weekMs   = int64(calendar.WeekLong / time.Millisecond)
	mondayMs = int64(4 * calendar.DayLong / time.Millisecond) // 5 January 1970 was one
)

// WeekOf returns the time of the week of a local time, in ms since Monday 00:00.
func WeekOf(local int64) int64 { return ((local-mondayMs)%weekMs + weekMs) % weekMs }

// At reports whether a time of the week is quiet, in ms since Monday 00:00.
func (h QuietHours) At(wall int64) bool {
	quiet, _ := h.holdsUntil(wall)
	return quiet
}

// holdsUntil reports whether a time of the week is quiet, and until which time of the
// week that stays so: the end of the week at the latest.
func (h QuietHours) holdsUntil(wall int64) (quiet bool, until int64) {
	i := sort.Search(len(h.week), func(i int) bool { return int64(h.week[i].until)*minuteMs > wall })
	switch {
	case i == len(h.week):
		return false, weekMs
	case int64(h.week[i].from)*minuteMs > wall:
		return false, int64(h.week[i].from) * minuteMs
	}
	return true, int64(h.week[i].until) * minuteMs
}

// sinceWhen returns the time of the week since when it has been quiet, or not quiet, as
// it is at wall: the beginning of the week at the earliest.
func (h QuietHours) sinceWhen(wall int64) int64 {
	since := int64(0)
	for _, s := range h.week {
		for _, edge := range []int{s.from, s.until} {
			if ms := int64(edge) * minuteMs; ms <= wall {
				since = ms
			}
		}
	}
	return since
}

// Words returns the quiet hours for the scripts: from and until of each span, in ms of
// the local week, merged and ascending; "" for none.
func (h QuietHours) Words() string {
	words := make([]string, 0, 2*len(h.week))
	for _, s := range h.week {
		words = append(words, strconv.FormatInt(int64(s.from)*minuteMs, 10), strconv.FormatInt(int64(s.until)*minuteMs, 10))
	}
	return strings.Join(words, " ")
}

// LineAt returns the first line that makes an instant quiet; "" if none does.
func (h QuietHours) LineAt(at int64, zone *calendar.ZoneTable) string {
	wall := WeekOf(zone.Local(at))
	for _, line := range h.lines {
		for _, s := range mergeWeek([]quietLine{line}) {
			if wall >= int64(s.from)*minuteMs && wall < int64(s.until)*minuteMs {
				return line.String()
			}
		}
	}
	return ""
}

// StretchAt returns the longest quiet interval [from, until) that contains an instant,
// in Unix ms; quiet is false if there is none.
func (h QuietHours) StretchAt(at int64, zone *calendar.ZoneTable) (from, until int64, quiet bool) {
	if !h.At(WeekOf(zone.Local(at))) {
		return 0, 0, false
	}
	return h.begin(at, zone), h.end(at, zone), true
}

// Within returns the quiet intervals in [from, until), ascending; from and until are in
// Unix ms.
func (h QuietHours) Within(from, until int64, zone *calendar.ZoneTable) []calendar.Stretch {
	var quiet []calendar.Stretch
	if h.IsZero() {
		return nil
	}
	for at := from; at < until; {
		end := h.end(at, zone)
		if h.At(WeekOf(zone.Local(at))) {
			quiet = append(quiet, calendar.Stretch{From: time.UnixMilli(at).UTC(), Until: time.UnixMilli(min(end, until)).UTC()})
		}
		at = end
	}
	return quiet
}

// end returns the first instant after at that is not as quiet as at. It goes from one
// change of the hours or of the offset to the next.
func (h QuietHours) end(at int64, zone *calendar.ZoneTable) int64 {
	quiet := h.At(WeekOf(zone.Local(at)))
	for {
		segment := zone.Segment(at)
		wall := WeekOf(at + zone.Segments[segment].Offset)
		still, until := h.holdsUntil(wall)
		if still != quiet {
			return at
		}
		at = min(at+until-wall, zone.EndOf(segment))
	}
}

// begin returns the first instant since when all times have been as quiet as at.
func (h QuietHours) begin(at int64, zone *calendar.ZoneTable) int64 {
	quiet := h.At(WeekOf(zone.Local(at)))
	for {
		segment := zone.Segment(at)
		wall := WeekOf(at + zone.Segments[segment].Offset)
		if h.At(wall) != quiet {
			return at + 1
		}
		at = max(at-wall+h.sinceWhen(wall), zone.BeginOf(segment)) - 1
	}
}
