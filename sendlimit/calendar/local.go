package calendar

import (
	"fmt"
	"strings"
	"time"
)

// The forms of a local time.
const (
	localSeconds = "2006-01-02 15:04:05"
	localMinutes = "2006-01-02 15:04"
)

// Local is a time that clocks show, without a zone.
type Local struct {
	wall   time.Time // as if it were in UTC
	layout string
}

// ParseLocal reads YYYY-MM-DD HH:MM with or without seconds. It also accepts RFC 3339 without a
// zone. The error has a *time.ParseError.
func ParseLocal(s string) (Local, error) {
	l := Local{layout: localSeconds}
	if strings.Count(s, ":") < 2 {
		l.layout = localMinutes
	}
	if date, clock, found := strings.Cut(s, "T"); found {
		s = date + " " + clock
	}
	var err error
	if l.wall, err = time.Parse(l.layout, s); err != nil {
		return Local{}, fmt.Errorf("parsing a local time: %w", err)
	}
	return l, nil
}

// In returns the instant at which clocks in a zone show the time. If there is none, or more
// than one, it returns what is wrong with the time, and what to write instead. time.Date would
// choose one silently.
func (l Local) In(zone *time.Location) (at time.Time, wrong string) {
	wall, layout := l.wall, l.layout
	// No zone differs more from UTC, before and after a change.
	const furthest = 48 * time.Hour
	var found []time.Time
	gap := ""
	for probe := wall.Add(-furthest); probe.Before(wall.Add(furthest)); {
		start, end := probe.In(zone).ZoneBounds()
		_, offset := probe.In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		switch {
		case !start.IsZero() && t.Before(start):
		case end.IsZero() || t.Before(end):
			found = append(found, t)
		default: // after this stretch, and before the next one if that begins later
			gap = gapBefore(end, layout)
		}
		if end.IsZero() {
			break
		}
		probe = end
	}
	switch len(found) {
	case 1:
		return found[0].UTC(), ""
	case 0:
		return time.Time{}, fmt.Sprintf("does not exist in %s: clocks go forward over it; the nearest times are %s",
			zone, gap)
	default:
		first, second := found[0].In(zone), found[1].In(zone)
		return time.Time{}, fmt.Sprintf("is ambiguous in %s: clocks go back and show it twice; write %s or %s",
			zone, first.Format(time.RFC3339Nano), second.Format(time.RFC3339Nano))
	}
}

// gapBefore returns the last time that clocks show before they are put forward, and the
// first one after.
func gapBefore(change time.Time, layout string) string {
	step := time.Second
	if layout == localMinutes {
		step = time.Minute
	}
	return fmt.Sprintf("%s and %s", change.Add(-step).Format(layout), change.Format(layout))
}
