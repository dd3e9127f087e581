package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// userPage shows the timeline and all other data of a user.
type userPage struct {
	page

	User     string
	Span     string // one of spans
	Spans    []spanChoice
	At       time.Time // the time around which rules are shown
	Zone     *time.Location
	Rule     string // the rule whose stretches are shown; "" for all together
	Category string
	Usage    message.Usage
	Timeline timeline
	Messages []message.Status
	More     bool // there are more than those
	Devices  []message.Device
	Settings *message.UserSettings // nil for a caller who may not see them
	Form     settingsForm
	Wrong    string    // what is wrong with the time or the zone that the address has
	TestAt   time.Time // of the form for a message to try something with
}

// spanChoice is a length of timeline to choose.
type spanChoice struct {
	Name, Label string
	length      time.Duration
}

func spans() []spanChoice {
	return []spanChoice{
		{"6h", "6 hours", 6 * time.Hour}, {"1d", "1 day", 24 * time.Hour}, {"7d", "7 days", 7 * 24 * time.Hour}, {"31d", "31 days", 31 * 24 * time.Hour},
	}
}

// lengthOf returns the length of a span; a day for an unknown one.
func lengthOf(name string) (string, time.Duration) {
	for _, s := range spans() {
		if s.Name == name {
			return name, s.length
		}
	}
	return "1d", 24 * time.Hour
}

// maxMarks is how many messages a timeline shows.
const maxMarks = 1000

func (d *Dashboard) showUser(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	user := q.Get("name")
	if user == "" {
		d.redirect(w, r, "/users")
		return
	}
	p := &userPage{page: d.page(r, "User "+clip(user, 80)), User: user, Spans: spans(), Category: q.Get("category"), Rule: q.Get("rule")}
	p.Script = "user.js"
	if err := d.fillUser(r, p, q); err != nil {
		d.showError(w, r, err)
		return
	}
	d.render(w, r, http.StatusOK, "user", p)
}

// fillUser reads the data of the page.
func (d *Dashboard) fillUser(r *http.Request, p *userPage, q url.Values) error {
	who := callerOf(r.Context())
	if who.Admin() {
		settings, err := d.api.UserSettings(r.Context(), p.User)
		if err != nil {
			return err
		}
		p.Settings, p.Form = &settings, settingsFormOf(settings)
	}
	p.choose(q)
	var length time.Duration
	p.Span, length = lengthOf(q.Get("span"))
	from := p.At.Add(-length / 4).Truncate(time.Minute)
	until := from.Add(length)
	var err error
	if p.Usage, err = d.api.Usage(r.Context(), p.User, client.UsageQuery{At: p.At, From: from, Until: until, Category: p.Category}); err != nil {
		return err
	}
	list := d.api.ListMessages(r.Context(), p.User, client.ListMessagesQuery{From: from, Until: until, Limit: maxMarks})
	if p.Messages, p.More, err = first(list, maxMarks); err != nil {
		return err
	}
	devices, err := d.api.ListDevices(r.Context(), p.User)
	if err != nil {
		return err
	}
	p.Devices = devices.Devices
	forbidden, err := d.forbiddenTo(r, sendlimit.ForbiddenRequest{User: p.User, Category: p.Category, From: from, To: until})
	if err != nil {
		return err
	}
	p.Timeline = newTimeline(p, forbidden, from, until, who.Submits())
	p.TestAt = p.Now.Add(time.Hour).Truncate(time.Minute)
	if next := q.Get("next"); next != "" {
		if at, err := calendar.ParseTime(next, nil); err == nil {
			p.TestAt = at
		}
	}
	return nil
}

// choose reads the time and the zone in the address.
func (p *userPage) choose(q url.Values) {
	zone := q.Get("zone")
	if zone == "" && p.Settings != nil {
		zone = p.Settings.TimeZone
	}
	var err error
	if p.Zone, err = calendar.ParseTimeZone(zone); err != nil {
		p.Zone, p.Wrong = time.UTC, err.Error()+"."
	}
	p.At = p.Now.Truncate(time.Second)
	if given := q.Get("at"); given != "" {
		at, err := calendar.ParseTime(apiTime(given), nil)
		if err != nil || at.Year() < 1970 || at.Year() > 9000 {
			p.Wrong = strings.TrimSpace(p.Wrong + " The time " + clip(given, 80) + " is invalid: use one such as 2026-11-22T11:11:11Z.")
			return
		}
		p.At = at.UTC()
	}
}

// Address returns the address of the page with other values: names and values in turn.
func (p *userPage) Address(pairs ...any) string {
	query := url.Values{"name": {p.User}}
	for name, value := range map[string]string{"span": p.Span, "at": text(p.At), "rule": p.Rule, "category": p.Category, "zone": p.Zone.String()} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(text(pairs[i]), text(pairs[i+1]))
	}
	return withQuery(p.Path, query)
}

// Earlier and Later are the neighbouring times to show.
func (p *userPage) Earlier() time.Time { return p.step(-1) }

// Later returns the time to show after this one.
func (p *userPage) Later() time.Time { return p.step(1) }

func (p *userPage) step(by int) time.Time {
	_, length := lengthOf(p.Span)
	return p.At.Add(time.Duration(by) * length * 3 / 4)
}

// InZone formats a time in the chosen zone.
func (p *userPage) InZone(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.In(p.Zone).Format(layoutOf(at) + " MST")
}

// RuleNames returns the rules to choose from.
func (p *userPage) RuleNames() []string {
	names := make([]string, len(p.Usage.Rules))
	for i, rule := range p.Usage.Rules {
		names[i] = ruleName(rule.Category, rule.Rule)
	}
	return names
}

func ruleName(category, rule string) string {
	if category == "" {
		return rule
	}
	return category + " " + rule
}

func joined(list []string) string { return strings.Join(list, " ") }
