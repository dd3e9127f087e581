package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sendlimit/sendlimiter/records/forecast"
)

// schedulePage shows how many messages are scheduled in each hour.
type schedulePage struct {
	page

	Forecast forecast.Forecast
	Counted  string // when, and how long ago; "" for not yet
	Days     []heatDay
	Most     int // messages of the fullest hour
	Fullest  time.Time
	Weeks    int
	Choices  []int
	More     int // messages later than the days shown
	// LaterFrom is the start of the hours that were counted at Forecast.HeatAt. Zero if they were
	// counted with the others.
	LaterFrom    time.Time
	LaterCounted string // as Counted
}

// heatDay is a row of the heat map.
type heatDay struct {
	Start time.Time
	Hours [24]heatHour
	Total int
}

// heatHour is a cell of the heat map.
type heatHour struct {
	Start, Until time.Time
	Count        int
	Level        int // 0 for none, 1 to 8
	Past         bool
}

// heatLevels is the number of colours, without the colour for none.
const heatLevels = 8

func (d *Dashboard) showSchedule(w http.ResponseWriter, r *http.Request) {
	p := &schedulePage{page: d.page(r, "Schedule"), Weeks: 2, Choices: []int{1, 2, 4, 8, 26, 52}}
	if weeks, err := strconv.Atoi(r.URL.Query().Get("weeks")); err == nil && weeks >= 1 && weeks <= 57 {
		p.Weeks = weeks
	}
	o, err := d.o.Overview.Read(r.Context(), d.o.Now())
	if err != nil {
		d.showError(w, r, err)
		return
	}
	p.Forecast = o.Forecast
	if !o.Forecast.At.IsZero() {
		p.Counted = counted(o.At, o.Forecast.At)
	}
	if !o.Forecast.HeatAt.IsZero() {
		p.LaterCounted = counted(o.At, o.Forecast.HeatAt)
	}
	if p.Forecast.At.Sub(p.Forecast.HeatAt) > time.Minute {
		p.LaterFrom = p.Forecast.End()
	}
	if wantsCSV(r) {
		d.download(w, r, "schedule", []string{"hour", "messages"}, func() ([][]string, bool, error) {
			rows := make([][]string, len(p.Forecast.Heat))
			for i, h := range p.Forecast.Heat {
				rows[i] = []string{h.Start.Format(time.RFC3339), strconv.Itoa(h.Count)}
			}
			return rows, false, nil
		})
		return
	}
	p.fill(o.At)
	d.render(w, r, http.StatusOK, "schedule", p)
}

// fill makes the heat map of the days from now on.
func (p *schedulePage) fill(now time.Time) {
	const day = 24 * time.Hour
	first := now.UTC().Truncate(day)
	counts := make(map[int64]int, len(p.Forecast.Heat))
	end := first.Add(time.Duration(p.Weeks) * 7 * day)
	for _, h := range p.Forecast.Heat {
		counts[h.Start.Unix()] = h.Count
		if !h.Start.Before(end) {
			p.More += h.Count
		} else if h.Count > p.Most {
			p.Most, p.Fullest = h.Count, h.Start
		}
	}
	for start := first; start.Before(end); start = start.Add(day) {
		row := heatDay{Start: start}
		for i := range row.Hours {
			hour := start.Add(time.Duration(i) * time.Hour)
			n := counts[hour.Unix()]
			row.Hours[i] = heatHour{Start: hour, Until: hour.Add(time.Hour), Count: n, Level: heatLevel(n, p.Most), Past: !hour.Add(time.Hour).After(now)}
			row.Total += n
		}
		p.Days = append(p.Days, row)
	}
}

// heatLevel returns the colour of a count: 0 for none, 8 for the most.
func heatLevel(n, most int) int {
	if n == 0 || most == 0 {
		return 0
	}
	return 1 + (n-1)*heatLevels/most
}
