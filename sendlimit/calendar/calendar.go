package calendar

import (
	"math"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Stretch is a half-open interval [From, Until) of send times.
type Stretch struct {
	From, Until time.Time
}

// parseTimeZone finds an IANA time zone; "" is UTC. The process's own, Local, is
// none. The error is an *InvalidError for the field "time_zone".
func ParseTimeZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &fault.InvalidError{
			Field: "time_zone", Value: name,
			Want: "an IANA time zone such as Europe/Berlin",
		}
	}
	return zone, nil
}

// beginOf and endOf are the first instant of a segment, and the first after it.
func (t *ZoneTable) BeginOf(segment int) int64 {
	if segment == 0 {
		return math.MinInt64 + 1
	}
	return t.Segments[segment].from
}

func (t *ZoneTable) EndOf(segment int) int64 {
	if segment+1 == len(t.Segments) {
		return math.MaxInt64
	}
	return t.Segments[segment+1].from
}

const MaxWindow = 366 * 24 * time.Hour

const (
	DayLong  = 24 * time.Hour
	WeekLong = 7 * DayLong
)

// Period is a natural period of the calendar. The zero value, NoPeriod, marks
// a sliding rule.
type Period uint8

// The natural periods, from the shortest to the longest. A week is an ISO
// week: it starts on Monday.
const (
	NoPeriod Period = iota
	Minute
	Hour
	Day
	Week
	Month
)

var PeriodNames = [...]string{"", "minute", "hour", "day", "week", "month"} //nolint:gochecknoglobals // a constant table

// String returns the period's name as rules spell it, "day" for Day.
func (p Period) String() string {
	if int(p) < len(PeriodNames) {
		return PeriodNames[p]
	}
	return "period(" + strconv.Itoa(int(p)) + ")"
}

// clockChange is the most that clocks are put back at once: an hour, but for
// Antarctica/Troll.
const clockChange = 2 * time.Hour

// longest is the longest the period can really last, clock changes included.
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

func ParsePeriod(name string) Period {
	for p := Minute; p <= Month; p++ {
		if PeriodNames[p] == name {
			return p
		}
	}
	return NoPeriod
}

// orLocalClock is a time, or that of the local clock where it is zero.
func OrLocalClock(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now() //nolint:forbidigo // picks the years of a zone's table, judges nothing
	}
	return at
}

// naturalPeriod gives the natural UTC minute, hour, day or week of at,
// half-open, all in Unix ms.
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

// DayStart is the first instant of the natural day of a time in a zone, nil for
// UTC. A day with a clock change has 23 or 25 hours, and may begin at one.
func DayStart(at time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	const longest = 27 * 60 * 60 // seconds: longer than any day
	local := at.In(zone).Truncate(time.Second)
	year, day := local.Year(), local.YearDay()
	seconds := 0
	for low, high := 0, longest; low < high; { // halves until it has the last second back that is of the day
		middle := (low + high + 1) / 2
		if earlier := local.Add(-time.Duration(middle) * time.Second); earlier.Year() == year && earlier.YearDay() == day {
			low, seconds = middle, middle
		} else {
			high = middle - 1
		}
	}
	return local.Add(-time.Duration(seconds) * time.Second)
}
