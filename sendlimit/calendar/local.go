package calendar

import (
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Layouts of a local time.
const (
	localSeconds = "2006-01-02 15:04:05"
	localMinutes = "2006-01-02 15:04"
)

// WantLocal describes a valid local time, for fault.InvalidError.Want.
const WantLocal = "a local time without a zone, such as 2040-06-22T11:11 or 2040-06-22T11:11:11"

// furthest is more than the offset of any zone from UTC.
const furthest = 48 * time.Hour

// LocalTime is a time that clocks show, without a zone.
type LocalTime struct {
	wall   time.Time // as if it were in UTC
	layout string
}

// ParseLocalTime reads a local time in the forms of ParseTime without an offset, cut to the
// millisecond. The error is a *fault.InvalidError without a field.
func ParseLocalTime(text string) (LocalTime, error) {
	part := written.FindStringSubmatch(text)
	if part == nil || part[6] != "" {
		return LocalTime{}, &fault.InvalidError{Value: text, Want: WantLocal}
	}
	local, want := readLocal(part)
	if want == "" && !(InYears(local.wall.Add(-furthest)) && InYears(local.wall.Add(furthest))) {
		want = WantYears // in every zone
	}
	if want != "" {
		return LocalTime{}, &fault.InvalidError{Value: text, Want: want}
	}
	return local, nil
}

// String returns the time as 2006-01-02T15:04:05, with a fraction if it has one. Texts of the same
// time are equal.
func (l LocalTime) String() string { return l.wall.Format("2006-01-02T15:04:05.999") }

// Clock says what clocks do at a local time.
type Clock string

// The values of a Clock. The zero value means that clocks show the time once.
const (
	ClockSkipped  Clock = "skipped"  // they are put forward over it
	ClockRepeated Clock = "repeated" // they are put back, and show it twice
)

// In returns the instant at which clocks in a zone show the time: the first one if they show it
// twice. If they skip it, it is as far behind the gap as the time would be into it, which is RFC
// 5545's rule.
func (l LocalTime) In(zone *time.Location) (time.Time, Clock) {
	shown := l.shown(zone)
	switch len(shown.at) {
	case 0:
		return shown.behind, ClockSkipped
	case 1:
		return shown.at[0], ""
	default:
		return shown.at[0], ClockRepeated
	}
}

// Strictly is In for a time that clocks must show once. Otherwise it returns what is wrong with the
// time, and what to write instead.
func (l LocalTime) Strictly(zone *time.Location) (at time.Time, wrong string) {
	shown := l.shown(zone)
	switch len(shown.at) {
	case 1:
		return shown.at[0], ""
	case 0:
		return time.Time{}, fmt.Sprintf("does not exist in %s: clocks go forward over it; the nearest times are %s",
			zone, shown.gap)
	default:
		first, second := shown.at[0].In(zone), shown.at[1].In(zone)
		return time.Time{}, fmt.Sprintf("is ambiguous in %s: clocks go back and show it twice; write %s or %s",
			zone, first.Format(time.RFC3339Nano), second.Format(time.RFC3339Nano))
	}
}

// shownAt has the instants at which clocks show a local time, in UTC. Without any, it has the time
// behind the gap, and the times at the edges of the gap in words.
type shownAt struct {
	at     []time.Time
	behind time.Time
	gap    string
}

func (l LocalTime) shown(zone *time.Location) (shown shownAt) {
	middle := l.wall.Truncate(time.Second)
	table := newZoneTable(zone, middle.Add(-furthest), middle.Add(furthest))
	for i, segment := range table.Segments {
		at := l.wall.UnixMilli() - segment.Offset
		switch {
		case at < table.BeginOf(i):
		case at < table.EndOf(i):
			shown.at = append(shown.at, time.UnixMilli(at).UTC())
		default: // after this segment, and before the next one if that begins later
			change := time.UnixMilli(table.EndOf(i) + segment.Offset).UTC()
			following := time.UnixMilli(table.Local(table.EndOf(i))).UTC()
			shown.behind, shown.gap = time.UnixMilli(at).UTC(), l.edges(change, following)
		}
	}
	return shown
}

// edges returns the last time that clocks show before they are put forward, and the first one
// after.
func (l LocalTime) edges(change, following time.Time) string {
	step := time.Second
	if l.layout == localMinutes {
		step = time.Minute
	}
	return fmt.Sprintf("%s and %s", change.Add(-step).Format(l.layout), following.Format(l.layout))
}

// readLocal reads the parts of a text that written matches, without its offset. Otherwise it returns
// what is allowed.
func readLocal(part []string) (local LocalTime, want string) {
	layout, seconds := localMinutes, ""
	if part[4] != "" {
		layout, seconds = localSeconds, ":"+part[4]+part[5]
	}
	switch {
	case part[2] == "24":
		return LocalTime{}, wantHours
	case part[4] == "60":
		return LocalTime{}, wantSeconds
	}
	wall, err := time.Parse(layout, part[1]+" "+part[2]+":"+part[3]+seconds)
	if err != nil {
		return LocalTime{}, wantExisting
	}
	return LocalTime{wall.Truncate(time.Millisecond), layout}, ""
}
