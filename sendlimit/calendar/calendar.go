package calendar

import (
	"math"
	"strconv"
	"time"
)

// Stretch is a half-open interval [From, Until) of send times.
type Stretch struct {
	From, Until time.Time
}

// BeginOf returns the first instant of a segment, in Unix ms.
func (t *ZoneTable) BeginOf(segment int) int64 {
	if segment == 0 {
		return math.MinInt64 + 1
	}
	return t.Segments[segment].from
}

// EndOf returns the first instant after a segment, in Unix ms.
func (t *ZoneTable) EndOf(segment int) int64 {
	if segment+1 == len(t.Segments) {
		return math.MaxInt64
	}
	return t.Segments[segment+1].from
}

// MaxWindow is the longest window of a sliding rule.
const MaxWindow = 366 * 24 * time.Hour

// Lengths of a day and a week without a clock change.
const (
	DayLong  = 24 * time.Hour
	WeekLong = 7 * DayLong
)

// Period is a natural period of the calendar. The zero value, NoPeriod, means a sliding rule.
type Period uint8

// The natural periods, from the shortest to the longest. A week is an ISO week: it starts on
// Monday.
const (
	NoPeriod Period = iota
	Minute
	Hour
	Day
	Week
	Month
)

// PeriodNames are the names of the periods in rules, indexed by Period.
var PeriodNames = [...]string{"", "minute", "hour", "day", "week", "month"} //nolint:globals // a constant table

// String returns the name of the period in rules: "day" for Day.
func (p Period) String() string {
	if int(p) < len(PeriodNames) {
		return PeriodNames[p]
	}
	return "period(" + strconv.Itoa(int(p)) + ")"
}

// clockChange is the maximum by which clocks are put back at once. It is one hour everywhere except
// in Antarctica/Troll.
const clockChange = 2 * time.Hour

// Longest returns the longest time that the period can last, clock changes included.
func (p Period) Longest() time.Duration {
	switch p {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return DayLong + clockChange
	case Week:
		return WeekLong + clockChange
	case Month:
		return 31*DayLong + clockChange
	case NoPeriod:
	}
	return 0
}

// ParsePeriod returns the period with a name; NoPeriod if there is none.
func ParsePeriod(name string) Period {
	for p := Minute; p <= Month; p++ {
		if PeriodNames[p] == name {
			return p
		}
	}
	return NoPeriod
}

// OrLocalClock returns at, or the time of the local clock if at is zero.
func OrLocalClock(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now() //nolint:names // picks the years of a zone's table, judges nothing
	}
	return at
}

// NaturalPeriod returns the UTC minute, hour, day or week that contains at. All times are in Unix
// ms; till is the first instant after the period.
func NaturalPeriod(p Period, at int64) (from, till int64) {
	length, shift := p.Longest().Milliseconds(), int64(0)
	switch p {
	case Day:
		length = DayLong.Milliseconds()
	case Week:
		length, shift = WeekLong.Milliseconds(), 4*DayLong.Milliseconds() // 5 January 1970 was a Monday
	case Minute, Hour, Month, NoPeriod:
	}
	from = at - ((at-shift)%length+length)%length
	return from, from + length
}

// DayStart returns the first instant of the day that contains at in a zone; nil means UTC. A day
// with a clock change has 23 or 25 hours, and may begin at 01:00.
func DayStart(at time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	const longest = 27 * 60 * 60 // seconds: longer than any day
	local := at.In(zone).Truncate(time.Second)
	year, day := local.Year(), local.YearDay()
	seconds := 0
	for low, high := 0, longest; low < high; { // binary search for the earliest second of the day
		middle := (low + high + 1) / 2
		if earlier := local.Add(-time.Duration(middle) * time.Second); earlier.Year() == year && earlier.YearDay() == day {
			low, seconds = middle, middle
		} else {
			high = middle - 1
		}
	}
	return local.Add(-time.Duration(seconds) * time.Second)
}
