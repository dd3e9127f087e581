package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

// overviewPage shows the state of the system.
type overviewPage struct {
	page

	O      *overview.Overview // nil for a caller without the scope admin
	Live   liveState
	Past   pastState // the last days
	Days   []activity.Span
	Usage  *message.AccountUsage
	Levels []lateLevel
}

// lateLevel is the largest lateness of a share of the messages.
type lateLevel struct {
	Name, Key, Late string
}

func (d *Dashboard) showOverview(w http.ResponseWriter, r *http.Request) {
	who := callerOf(r.Context())
	p := &overviewPage{page: d.page(r, "Overview")}
	if !who.Admin() {
		d.showOwnOverview(w, r, p)
		return
	}
	p.Script = "live.js"
	o, err := d.o.Overview.Read(r.Context(), d.o.Now())
	if err != nil {
		d.showError(w, r, err)
		return
	}
	p.O, p.Live = o, liveStateOf(o)
	history, err := d.o.Overview.History(r.Context(), d.o.Now())
	if err != nil {
		d.showError(w, r, err)
		return
	}
	p.Past = pastStateOf(history)
	for _, level := range lateLevels() {
		p.Levels = append(p.Levels, lateLevel{level.name, level.key, p.Live.Values[level.key]})
	}
	d.render(w, r, http.StatusOK, "overview", p)
}

// showOwnOverview shows an account its own numbers.
func (d *Dashboard) showOwnOverview(w http.ResponseWriter, r *http.Request, p *overviewPage) {
	who := callerOf(r.Context())
	if !who.Reads() {
		d.render(w, r, http.StatusOK, "overview", p)
		return
	}
	var err error
	if p.Days, err = d.o.Overview.Days(r.Context(), who.identity.Account, d.o.Now()); err != nil {
		d.showError(w, r, err)
		return
	}
	p.Usage = new(message.AccountUsage)
	if *p.Usage, err = d.api.OwnUsage(r.Context()); err != nil {
		d.showError(w, r, err)
		return
	}
	d.render(w, r, http.StatusOK, "overview", p)
}

// liveState is the data of the overview's script, the same for all who may see it.
type liveState struct {
	At     int64             `json:"at"`     // Unix ms, by the store's clock
	Values map[string]string `json:"values"` // texts by the name of their place
	Alarms map[string]bool   `json:"alarms"` // which of them are bad news
	Needs  []need            `json:"needs"`  // what needs somebody, the most urgent first
	// Stopped says whether all sending is stopped. A page that was made before is loaded again.
	Stopped bool `json:"stopped"`
	// Series are counts of each of the last 60 minutes, by name.
	Since  int64              `json:"since"` // Unix s
	Series map[string][]int64 `json:"series"`
	// Minutes and Hours are what is due in each of the next, from these times on, Unix s.
	MinutesFrom int64     `json:"minutes_from"`
	Minutes     []int     `json:"minutes"`
	HoursFrom   int64     `json:"hours_from"`
	Hours       []int     `json:"hours"`
	Reasons     []reasons `json:"reasons"`
}

// reasons counts refused, dropped or failed messages by reason, sorted by name, so that a row keeps
// its place when its number changes.
type reasons struct {
	Name string      `json:"name"`
	Rows []reasonRow `json:"rows"`
}

type reasonRow struct {
	Name  string `json:"name"`
	Count string `json:"count"`
}

// lateLevels are the shares of messages whose lateness is shown.
func lateLevels() []struct {
	name, key string
	share     float64
} {
	return []struct {
		name, key string
		share     float64
	}{{"half", "late_p50", 0.5}, {"95 %", "late_p95", 0.95}, {"99 %", "late_p99", 0.99}}
}

// counted formats when something was counted, and how long ago.
func counted(now, at time.Time) string {
	return when(at.Truncate(time.Second)) + ", " + length(now.Sub(at).Truncate(time.Second)) + " ago"
}

func liveStateOf(o *overview.Overview) liveState {
	s := liveState{
		At: o.At.UnixMilli(), Values: make(map[string]string), Alarms: make(map[string]bool), Series: make(map[string][]int64),
		Minutes: o.Forecast.Minutes, Hours: o.Forecast.Hours, Stopped: o.Sending != nil,
	}
	if !o.Forecast.At.IsZero() {
		s.MinutesFrom = o.Forecast.At.Truncate(time.Minute).Unix()
		s.HoursFrom = o.Forecast.At.Truncate(time.Hour).Unix()
	}
	hour := o.LastHour
	refused, dropped, failed := activity.Total(hour.Refused), activity.Total(hour.Dropped), activity.Total(hour.Failed)
	for name, n := range map[string]int64{
		"pending": int64(o.Forecast.Pending), "overdue": int64(o.Forecast.Overdue), "accepted": hour.Accepted, "refused": refused,
		"delivered": hour.Delivered, "late": hour.Late, "dropped": dropped, "failed": failed, "postponed": hour.Postponed,
		"cancelled": hour.Cancelled, "dead_letters": int64(o.DeadLetters), "failed_alerts": int64(o.FailedAlerts), "workers": int64(len(o.Workers)),
	} {
		s.Values[name] = number(n)
	}
	if o.Forecast.At.IsZero() {
		s.Values["pending"], s.Values["overdue"] = "counting…", "counting…"
	}
	s.Values["behind"] = length(o.Behind)
	s.Values["counted"] = "not yet"
	if !o.Forecast.At.IsZero() {
		s.Values["counted"] = counted(o.At, o.Forecast.At)
	}
	for _, level := range lateLevels() {
		s.Values[level.key] = "–"
		if d, ok := hour.Lateness.Quantile(level.share); ok {
			s.Values[level.key] = length(d)
		}
	}
	s.Alarms["behind"] = o.Behind > o.Horizon/2
	s.Alarms["workers"] = len(o.Workers) == 0
	s.Alarms["failed"], s.Alarms["dead_letters"], s.Alarms["failed_alerts"] = failed > 0, o.DeadLetters > 0, o.FailedAlerts > 0
	s.Needs = needsOf(o)
	s.addSeries(o.Minutes)
	s.Reasons = []reasons{reasonsOf("refused", hour.Refused), reasonsOf("dropped", hour.Dropped), reasonsOf("failed", hour.Failed)}
	return s
}

// need is something that needs somebody, with the page that shows it.
type need struct {
	Text string `json:"text"`
	To   string `json:"to"`
}

// fullAt is the share of the store's memory from which on it needs somebody.
const fullAt = 0.9

// needsOf returns what needs somebody.
func needsOf(o *overview.Overview) []need {
	needs := []need{}
	add := func(needed bool, text, to string) {
		if needed {
			needs = append(needs, need{text, to})
		}
	}
	add(len(o.Workers) == 0, "No worker delivers: accepted messages wait", "/workers")
	for _, c := range o.Channels {
		add(c.Stopped, "The channel "+c.Name+" is stopped: "+c.Reason, "/workers")
	}
	for _, m := range o.Memory {
		add(m.MaxBytes > 0 && float64(m.UsedBytes) > fullAt*float64(m.MaxBytes), "The store "+m.Server+" is nearly full", "/workers")
	}
	add(o.Behind > o.Horizon/2, "The queue is "+length(o.Behind)+" behind", "/workers")
	add(o.DeadLetters > 0, plural(o.DeadLetters, "dead letter"), "/dead-letters")
	add(o.FailedAlerts > 0, plural(o.FailedAlerts, "alert")+" not delivered", "/alerts")
	return needs
}

func (s *liveState) addSeries(minutes []activity.Span) {
	if len(minutes) > 0 {
		s.Since = minutes[0].Start.Unix()
	}
	addSpans(s.Series, minutes)
}

// addSpans adds the counts of spans to series, by name.
func addSpans(series map[string][]int64, spans []activity.Span) {
	for _, m := range spans {
		for name, n := range map[string]int64{
			"accepted": m.Accepted, "refused": activity.Total(m.Refused), "delivered": m.Delivered, "late": m.Late, "dropped": activity.Total(m.Dropped), "failed": activity.Total(m.Failed),
		} {
			series[name] = append(series[name], n)
		}
	}
}

// pastState has counts of each hour of the last days, by name.
type pastState struct {
	Since  int64              `json:"since"` // Unix s
	Series map[string][]int64 `json:"series"`
	Days   []activity.Span    `json:"-"` // the same by day of UTC, the newest first
}

func pastStateOf(hours []activity.Span) pastState {
	p := pastState{Series: make(map[string][]int64)}
	addSpans(p.Series, hours)
	for begin, i := 0, 0; i < len(hours); i++ {
		if i == 0 {
			p.Since = hours[0].Start.Unix()
		}
		if last := i == len(hours)-1; last || hours[i+1].Start.Hour() == 0 {
			p.Days = append([]activity.Span{{Start: hours[begin].Start, Counts: activity.Sum(hours[begin : i+1]...)}}, p.Days...)
			begin = i + 1
		}
	}
	return p
}

func reasonsOf(name string, counts map[string]int64) reasons {
	list := reasons{Name: name, Rows: []reasonRow{}}
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		list.Rows = append(list.Rows, reasonRow{label, number(counts[label])})
	}
	return list
}
