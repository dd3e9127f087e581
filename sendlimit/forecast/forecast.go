package forecast

import (
	"maps"
	"slices"
	"time"
)

// Forecast says how many pending messages are due when.
type Forecast struct {
	At      time.Time     // when it was counted, by the store's clock
	Took    time.Duration // how long the calls of the store took
	Pending int           // all messages that have not ended
	Overdue int           // those whose send time had passed at At
	// Minutes has those due in each of 60 minutes from the minute of At on: first what was
	// left of that minute.
	Minutes []int
	// Hours has those due in each of 24 hours, UTC, from the hour of At on: first what was
	// left of that hour.
	Hours []int
	// Heat has all hours in which messages are due, ascending, up to 400 days ahead. The
	// overdue ones are in none.
	Heat []HourCount
}

// HourCount is how many messages are due in an hour.
type HourCount struct {
	Start time.Time // UTC
	Count int       // at least 1
}

const (
	minutesAhead = 60
	hoursAhead   = 24
	heatAhead    = 400 * 24 // hours
)

// tally counts messages by when they are due.
type tally struct {
	now     int64 // Unix ms
	overdue int
	minutes [minutesAhead]int
	hours   map[int64]int // by the number of the hour since 1970, those of minutes included
}

func newTally(now time.Time) *tally {
	return &tally{now: now.UnixMilli(), hours: make(map[int64]int)}
}

// add counts messages that are due at a time, Unix ms.
func (t *tally) add(due int64, messages int) {
	if due < t.now {
		t.overdue += messages
		return
	}
	first := t.now / time.Minute.Milliseconds()
	if ahead := due/time.Minute.Milliseconds() - first; ahead < minutesAhead {
		t.minutes[ahead] += messages
	}
	t.hours[due/time.Hour.Milliseconds()] += messages
}

// addMinute counts messages as lua/forecast/count_far.lua numbers them. It reports false for
// a number that the script does not return.
func (t *tally) addMinute(number, messages int64) bool {
	switch {
	case number == -1:
		t.overdue += int(messages)
	case number == 0:
		t.add(t.now, int(messages))
	case number > 0 && number < minutesAhead:
		minute := time.Minute.Milliseconds()
		t.add((t.now/minute+number)*minute, int(messages))
	default:
		return false
	}
	return true
}

// addHour counts messages that are due in an hour, after the minutes.
func (t *tally) addHour(number, messages int64) { t.hours[number] += int(messages) }

// forecast returns what was counted.
func (t *tally) forecast(took time.Duration) Forecast {
	f := Forecast{
		At: time.UnixMilli(t.now).UTC(), Took: took, Pending: t.overdue, Overdue: t.overdue,
		Minutes: t.minutes[:], Hours: make([]int, hoursAhead),
	}
	first := t.now / time.Hour.Milliseconds()
	for _, hour := range slices.Sorted(maps.Keys(t.hours)) {
		count := t.hours[hour]
		f.Pending += count
		if ahead := hour - first; ahead < hoursAhead {
			f.Hours[ahead] += count
		}
		if hour-first < heatAhead {
			f.Heat = append(f.Heat, HourCount{time.UnixMilli(hour * time.Hour.Milliseconds()).UTC(), count})
		}
	}
	return f
}
