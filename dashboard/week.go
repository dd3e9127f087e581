package dashboard

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// week is the drawing of a policy's quiet times in the coming seven days, a row for each. Lengths are
// in units of the drawing.
type week struct {
	Category      string // whose quiet times they are; "" for all without own ones
	Width, Height float64
	Days          []weekDay
	Hours         []tick
}

// weekDay is a row of a week.
type weekDay struct {
	Label string
	Y     float64
	Quiet []band
}

const (
	weekLeft   = 110 // where days begin: the labels are left of it
	weekRight  = 990
	weekRow    = 20
	weekTop    = 4
	labelsRoom = 24 // for the labels of hours
)

// weeksOf draws the quiet times of a policy and of its categories, without those that have none.
func weeksOf(stored message.Policy, now time.Time) ([]week, error) {
	stored.Name = cmp.Or(stored.Name, policy.DefaultName) // of a policy that is not stored yet
	p, err := policy.Document(stored).Policy()
	if err != nil {
		return nil, err
	}
	zone, err := calendar.ParseTimeZone(p.TimeZone)
	if err != nil {
		return nil, err
	}
	var zones calendar.ZoneTables
	table := zones.TableAt(zone, now)
	var weeks []week
	for _, category := range append([]string{""}, slices.Sorted(maps.Keys(p.Categories))...) {
		quiet := p.Quiet(category, policy.WeekHours{})
		if own := p.Categories[category]; !quiet.IsZero() && (category == "" || own.HasQuiet()) {
			weeks = append(weeks, newWeek(category, quiet.Table(table, now.UTC().Year()), zone, now))
		}
	}
	return weeks, nil
}

func newWeek(category string, quiet *policy.QuietTable, zone *time.Location, now time.Time) week {
	w := week{Category: category, Width: drawnWidth}
	const hour = (weekRight - weekLeft) / 24.0
	for h := 0; h <= 24; h += 3 {
		w.Hours = append(w.Hours, tick{X: weekLeft + float64(h)*hour, Label: time.Time{}.Add(time.Duration(h) * time.Hour).Format("15:04"), Day: h%24 == 0})
	}
	begins := calendar.DayStart(now, zone)
	for n := range 7 {
		day := weekDay{Label: begins.In(zone).Format("Mon 2 Jan"), Y: weekTop + float64(n)*weekRow}
		ends := calendar.DayStart(begins.Add(36*time.Hour), zone) // days have 23 to 25 hours
		x := func(at time.Time) float64 {
			return math.Round(weekLeft + (weekRight-weekLeft)*float64(at.Sub(begins))/float64(ends.Sub(begins)))
		}
		for _, line := range quiet.LinesWithin(begins.UnixMilli(), ends.UnixMilli()) {
			day.Quiet = append(day.Quiet, band{X: x(line.From), Y: day.Y, Width: x(line.Until) - x(line.From), Height: weekRow - 2, Why: line.Hours, From: line.From.In(zone), Until: line.Until.In(zone)})
		}
		w.Days = append(w.Days, day)
		begins = ends
	}
	w.Height = weekTop + float64(len(w.Days))*weekRow + labelsRoom
	return w
}
