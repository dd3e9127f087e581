package forecast

import (
	"maps"
	"slices"
	"time"
)

// Forecast counts pending messages by send time.
type Forecast struct {
	At      time.Time     // when it was counted, by the store's clock; the later hours at HeatAt
	Took    time.Duration // the time of the store's calls, without those for the later hours
	Pending int           // all messages that have not ended
	Overdue int           // those whose send time was before At
	// Minutes has the due messages of 60 minutes, beginning with the rest of the minute of At.
	Minutes []int
	// Hours has the due messages of 24 hours in UTC, beginning with the rest of the hour of At.
	Hours []int
	// Heat has all hours with due messages, ascending, up to 400 days ahead, without overdue
	// messages. Hours up to the end of Hours were counted at At, the later ones at HeatAt.
	Heat []HourCount
	// HeatAt is when the hours of Heat after the end of Hours were counted, at or before At. Zero
	// means not yet: then Heat lacks them.
	HeatAt time.Time
}

// End returns the end of Hours. The later hours of Heat were counted at HeatAt.
func (f Forecast) End() time.Time { return f.At.Truncate(time.Hour).Add(hoursAhead * time.Hour) }

// WithLater returns the Forecast with the hours of l after End. The Forecast must have none of
// these.
func (f Forecast) WithLater(l Later) Forecast {
	f.HeatAt = l.At
	counts := make(map[int64]int, len(f.Heat)+len(l.Hours))
	for _, h := range f.Heat {
		counts[h.Start.Unix()] += h.Count
	}
	for _, h := range l.Hours {
		if !h.Start.Before(f.End()) {
			counts[h.Start.Unix()] += h.Count
		}
	}
	f.Heat = make([]HourCount, 0, len(counts))
	for _, start := range slices.Sorted(maps.Keys(counts)) {
		f.Heat = append(f.Heat, HourCount{time.Unix(start, 0).UTC(), counts[start]})
	}
	return f
}

// Later counts the messages due in the hours after those of a Forecast.
type Later struct {
	At    time.Time     // when it was counted, by the store's clock
	Took  time.Duration // the time of the store's calls
	Hours []HourCount   // ascending, up to 400 days ahead
}

// HourCount is the number of messages due in an hour.
type HourCount struct {
	Start time.Time // UTC
	Count int       // at least 1
}

const (
	minutesAhead = 60
	hoursAhead   = 24
	heatAhead    = 400 * 24 // hours
)

// tally counts messages by due time.
type tally struct {
	now     int64 // Unix ms
	overdue int
	minutes [minutesAhead]int
	hours   map[int64]int // by the number of the hour since 1970, including those of minutes
	later   int           // after the counted span
}

func newTally(now time.Time) *tally {
	return &tally{now: now.UnixMilli(), hours: make(map[int64]int)}
}

// nearEnd returns the end of Forecast.Hours, Unix ms.
func (t *tally) nearEnd() int64 {
	return (t.now/time.Hour.Milliseconds() + hoursAhead) * time.Hour.Milliseconds()
}

// add counts messages due at a time, Unix ms.
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

// addMinute counts messages by a number of lua/forecast/count_far.lua. It reports false for an
// invalid number.
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

// addHour counts messages due in an hour after the minutes.
func (t *tally) addHour(number, messages int64) { t.hours[number] += int(messages) }

// forecast returns the result of a near count.
func (t *tally) forecast(took time.Duration) Forecast {
	f := Forecast{
		At: time.UnixMilli(t.now).UTC(), Took: took, Pending: t.overdue + t.later, Overdue: t.overdue,
		Minutes: t.minutes[:], Hours: make([]int, hoursAhead), Heat: t.heat(),
	}
	first := t.now / time.Hour.Milliseconds()
	for hour, count := range t.hours {
		f.Pending += count
		if ahead := hour - first; ahead < hoursAhead {
			f.Hours[ahead] += count
		}
	}
	return f
}

// laterHours returns the result of a later count.
func (t *tally) laterHours(took time.Duration) Later {
	return Later{At: time.UnixMilli(t.now).UTC(), Took: took, Hours: t.heat()}
}

// heat returns the hours with due messages.
func (t *tally) heat() (heat []HourCount) {
	first := t.now / time.Hour.Milliseconds()
	for _, hour := range slices.Sorted(maps.Keys(t.hours)) {
		if hour-first < heatAhead {
			heat = append(heat, HourCount{time.UnixMilli(hour * time.Hour.Milliseconds()).UTC(), t.hours[hour]})
		}
	}
	return heat
}
