package sendlimittest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// drawnPolicies draws the policies of one history. The first one has the longest window of all, so
// no later one counts places that were forgotten before.
type drawnPolicies struct {
	longest    int  // index in windows
	begun      bool // the first one is drawn
	categories bool
	start      time.Time // of the history: quiet hours may be near it
	zone       string    // with a change at that time
}

// windows are in ascending order of length.
var windows = []string{ //nolint:globals // a constant table
	"1s", "2s", "10s", "minute", "calendar_minute", "7m", "hour", "calendar_hour", "day", "calendar_day", "3d",
	"week", "calendar_week", "calendar_month",
}

// historyZones are zones of both hemispheres. Some have no clock changes, some have
// changes at midnight or of half an hour.
var historyZones = []string{ //nolint:globals // a constant table
	"", "UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Beirut",
}

// historyCategories are the categories of messages. Policies may have rules for all
// but the first.
var historyCategories = []string{"", "marketing", "news", "otp", "codes"} //nolint:globals // a constant table

const maxLimit = 6

func drawPolicies(t *rapid.T, categories bool) drawnPolicies {
	d := drawnPolicies{longest: rapid.IntRange(0, len(windows)-1).Draw(t, "longest window"), categories: categories}
	d.start, d.zone = drawZonedStart(t)
	return d
}

// draw draws a policy.
func (d drawnPolicies) draw(t *rapid.T, name string) policy.Policy {
	t.Helper()
	others := rapid.SliceOfNDistinct(rapid.IntRange(0, d.longest), 0, 3, rapid.ID[int]).Draw(t, "windows")
	first := d.longest
	if d.begun {
		first = rapid.IntRange(0, d.longest).Draw(t, "window")
	}
	rules := []string{drawLimit(t) + "/" + windows[first]}
	for _, i := range others {
		if i != first || rapid.Bool().Draw(t, "a window twice") {
			if text := drawLimit(t) + "/" + windows[i]; text != rules[0] {
				rules = append(rules, text)
			}
		}
	}
	zone := d.zone
	if rapid.Bool().Draw(t, "any zone") {
		zone = rapid.SampledFrom(historyZones).Draw(t, "zone")
	}
	p, err := policy.Parse(name, zone, rules...)
	require.NoError(t, err)
	p.UserTimeZone = rapid.Bool().Draw(t, "user's time zone")
	p.Reach = rapid.SampledFrom([]time.Duration{0, 0, 0, 90 * time.Minute, 10 * 24 * time.Hour}).Draw(t, "reach")
	p.OnConflict = rapid.SampledFrom([]policy.OnConflict{"", policy.Refuse, policy.Shift}).Draw(t, "on conflict")
	p.ShiftSpread = drawShiftSpread(t)
	p.Late = rapid.SampledFrom([]time.Duration{0, time.Minute, policy.DefaultLate}).Draw(t, "late")
	if d.categories {
		p.Categories, p.UnknownCategories = d.drawCategories(t), drawUnknownCategories(t)
		for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
			if c := p.Categories[name]; rapid.IntRange(0, 5).Draw(t, "reserved") == 0 {
				c.Accounts = []string{"acme"}
				p.Categories[name] = c
			}
		}
	}
	p.AccountShare = rapid.SampledFrom([]int{0, 0, 1, 50, 70}).Draw(t, "account share")
	d.drawQuiet(t, &p)
	p.Changes = d.drawChanges(t, p)
	require.NoError(t, p.Validate())
	return p
}

func drawLimit(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(1, maxLimit).Draw(t, "limit")) }

// drawCategories draws the categories of a policy.
func (d drawnPolicies) drawCategories(t *rapid.T) map[string]policy.CategoryRules {
	all := make(map[string]policy.CategoryRules)
	for _, name := range historyCategories[1:] {
		var c policy.CategoryRules
		switch rapid.IntRange(0, 5).Draw(t, name) {
		case 0, 1, 2:
			for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, d.longest), 1, 2, rapid.ID[int]).Draw(t, "windows") {
				r, err := policy.ParseRule(drawLimit(t) + "/" + windows[i])
				require.NoError(t, err)
				c.Rules = append(c.Rules, r)
			}
		case 3:
			c.Exempt = true
		case 4:
			c.Exempt, c.Uncounted = true, true
		default:
			if !rapid.Bool().Draw(t, "quiet times only") {
				continue
			}
			c.QuietHours = new(policy.WeekHours)
		}
		all[name] = c
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// drawShiftSpread draws no spread, a short or a long one.
func drawShiftSpread(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 0, time.Second, 30 * time.Minute, policy.MaxShiftSpread}).Draw(t, "shift spread")
}

// drawUnknownCategories mostly allows them: refused messages are judged no further.
func drawUnknownCategories(t *rapid.T) policy.UnknownCategories {
	return rapid.SampledFrom([]policy.UnknownCategories{
		policy.AllowUnknown, policy.AllowUnknown, policy.AllowUnknown, policy.RefuseUnknown, "",
	}).Draw(t, "unknown categories")
}

// ownQuietHours are short: they leave a time of the week beside any that are drawn.
var ownQuietHours = [][]string{ //nolint:globals // a constant table
	{}, {}, {"12:00-12:30"}, {"sun 10:00-11:00", "00:00-00:10"}, {"mon-sat 13:00-13:10"},
}

// drawQuiet draws the quiet times of a policy and of its categories.
func (d drawnPolicies) drawQuiet(t *rapid.T, p *policy.Policy) {
	p.QuietHours = d.drawQuietHours(t, p.TimeZone)
	p.Calendars = nil
	p.Only, p.Blackouts = d.drawAllowed(t), d.drawBlackouts(t, p)
	if rapid.IntRange(0, 3).Draw(t, "calendar") == 0 {
		p.Calendars = map[string]policy.Blackouts{"holidays": d.drawBlackouts(t, nil)}
		p.Blackouts = d.drawBlackouts(t, p)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		c := p.Categories[name]
		if c.Exempt {
			continue
		}
		if c.QuietHours != nil || rapid.IntRange(0, 3).Draw(t, "own quiet hours") == 0 {
			c.QuietHours = new(d.drawQuietHours(t, p.TimeZone))
		}
		if rapid.IntRange(0, 3).Draw(t, "own allowed hours") == 0 {
			c.Only = new(d.drawAllowed(t))
		}
		if rapid.IntRange(0, 3).Draw(t, "own blackouts") == 0 {
			c.Blackouts = new(d.drawBlackouts(t, p))
		}
		if rapid.IntRange(0, 3).Draw(t, "own shift spread") == 0 {
			c.ShiftSpread = new(drawShiftSpread(t))
		}
		p.Categories[name] = c
	}
}

// drawChanges mostly draws no dated changes. Others begin and end near the start of the
// history, one after the other.
func (d drawnPolicies) drawChanges(t *rapid.T, p policy.Policy) []policy.DatedChange {
	if rapid.IntRange(0, 3).Draw(t, "dated changes") > 0 {
		return nil
	}
	var changes []policy.DatedChange
	at := d.start.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "minutes from the start")) * time.Minute)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		c := policy.DatedChange{From: at}
		at = at.Add(rapid.SampledFrom([]time.Duration{time.Minute, 45 * time.Minute, 26 * time.Hour}).Draw(t, "for"))
		c.Until = at
		if rapid.Bool().Draw(t, "rules") {
			c.Rules = []policy.Rule{p.Rules[0]}
			c.Rules[0].Limit = rapid.IntRange(1, maxLimit).Draw(t, "limit")
		}
		if rapid.Bool().Draw(t, "quiet times") {
			c.QuietHours, c.Only = new(d.drawQuietHours(t, p.TimeZone)), new(d.drawAllowed(t))
		}
		if d.categories && rapid.Bool().Draw(t, "categories") {
			if c.Categories = d.drawCategories(t); c.Categories == nil {
				c.Categories = map[string]policy.CategoryRules{}
			}
		}
		changes = append(changes, c)
		at = at.Add(rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Minute}).Draw(t, "pause"))
	}
	if rapid.Bool().Draw(t, "for ever") {
		changes[len(changes)-1].Until = time.Time{}
	}
	return changes
}

// drawAllowed mostly draws no allowed hours. Drawn ones leave some time of the week beside any drawn
// quiet hours.
func (d drawnPolicies) drawAllowed(t *rapid.T) policy.WeekHours {
	if rapid.IntRange(0, 4).Draw(t, "only") > 0 {
		return policy.WeekHours{}
	}
	hours, err := policy.ParseAllowedHours(rapid.SampledFrom([][]string{
		{"06:00-05:00"}, {"mon-fri 00:00-24:00", "sat,sun 09:15-08:30"}, {"00:00-24:00"}, {"mon-sat 02:00-01:45", "sun 03:00-02:30"},
	}).Draw(t, "allowed")...)
	require.NoError(t, err)
	return hours
}

// drawBlackouts mostly draws no dates. Others are near the start of the history.
func (d drawnPolicies) drawBlackouts(t *rapid.T, p *policy.Policy) policy.Blackouts {
	if rapid.IntRange(0, 3).Draw(t, "blackouts") > 0 {
		return policy.Blackouts{}
	}
	var lines []string
	if p != nil && p.Calendars != nil {
		lines = append(lines, "holidays")
	}
	for range rapid.IntRange(1, 2).Draw(t, "dates") {
		from := d.start.AddDate(0, 0, rapid.IntRange(-2, 3).Draw(t, "days from the start"))
		until := from.AddDate(0, 0, rapid.IntRange(0, 2).Draw(t, "days"))
		layout := rapid.SampledFrom([]string{time.DateOnly, "01-02"}).Draw(t, "every year")
		line := from.Format(layout)
		if until.After(from) {
			line += ".." + until.Format(layout)
		}
		lines = append(lines, line)
	}
	dates, err := policy.ParseBlackouts(lines...)
	require.NoError(t, err)
	return dates
}

// drawQuietHours draws no quiet hours, usual ones, or ones that begin or end near
// the start of the history.
func (d drawnPolicies) drawQuietHours(t *rapid.T, zone string) policy.WeekHours {
	var lines []string
	switch rapid.IntRange(0, 3).Draw(t, "quiet hours") {
	case 0, 1:
		return policy.WeekHours{}
	case 2:
		lines = rapid.SampledFrom([][]string{
			{"22:00-08:00"},
			{"00:00-00:01"},
			{"01:30-02:30"},
			{"23:30-00:30", "12:00-13:00"},
			{"mon-fri 22:00-07:30", "sat,sun 00:00-24:00"},
			{"fri-mon 22:30-06:15"},
			{"sun 23:00-01:00"},
		}).Draw(t, "usual")
	default:
		location, err := calendar.ParseTimeZone(zone)
		require.NoError(t, err)
		for range rapid.IntRange(1, 2).Draw(t, "lines") {
			near := time.Duration(rapid.IntRange(-90, 90).Draw(t, "minutes from the start")) * time.Minute
			from := d.start.In(location).Add(near)
			lasts := rapid.SampledFrom([]time.Duration{time.Minute, 29 * time.Minute, time.Hour, 9 * time.Hour}).Draw(t, "for")
			days := rapid.SampledFrom([]string{"", "", from.Format("Mon") + " ", "sat-mon "}).Draw(t, "days")
			clock := time.Time{}.Add(timeOfDay(from.Hour(), from.Minute()))
			lines = append(lines, fmt.Sprintf("%s%s-%s", days, clock.Format("15:04"), clock.Add(lasts).Format("15:04")))
		}
	}
	for i := range lines {
		lines[i] = strings.ToLower(lines[i])
	}
	hours, err := policy.ParseQuietHours(lines...)
	require.NoError(t, err)
	return hours
}

// drawSettings draws a user's settings at a time, perhaps with one of the policies.
func drawSettings(t *rapid.T, now time.Time, policies ...policy.Policy) policy.UserSettings {
	t.Helper()
	p := rapid.SampledFrom(policies).Draw(t, "policy")
	s := policy.UserSettings{
		TimeZone: rapid.SampledFrom(historyZones).Draw(t, "user's zone"),
		Blocked:  rapid.IntRange(0, 3).Draw(t, "blocked") == 3, BestHours: DrawBestHours(t),
	}
	if p.Name != policies[0].Name || rapid.Bool().Draw(t, "named") {
		s.Policy = p.Name
	}
	for _, r := range p.Rules {
		if rapid.IntRange(0, 2).Draw(t, "limit of their own") == 0 && !slices.ContainsFunc(s.Limits, sameWindow(r)) {
			r.Limit = rapid.IntRange(1, maxLimit).Draw(t, "limit")
			s.Limits = append(s.Limits, r)
		}
	}
	if hours := rapid.SampledFrom(ownQuietHours).Draw(t, "own quiet hours"); len(hours) > 0 {
		var err error
		s.QuietHours, err = policy.ParseQuietHours(hours...)
		require.NoError(t, err)
	}
	drawOwnCategories(t, &s, policies)
	if rapid.IntRange(0, 5).Draw(t, "out of all") == 0 {
		s.OptOut = append(s.OptOut, policy.AllCategories)
	}
	if rapid.IntRange(0, 3).Draw(t, "do not disturb") == 0 {
		s.DoNotDisturbUntil = now.UTC().Truncate(time.Millisecond).Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "minutes undisturbed")) * time.Minute)
	}
	return s
}

// drawOwnCategories draws a user's rules of categories, with windows that the policies
// remember, and opt-outs.
func drawOwnCategories(t *rapid.T, s *policy.UserSettings, policies []policy.Policy) {
	if !slices.ContainsFunc(policies, func(p policy.Policy) bool { return len(p.Categories) > 0 }) {
		return
	}
	for _, name := range historyCategories[1:] {
		switch rapid.IntRange(0, 7).Draw(t, "own "+name) {
		case 0:
			r := rapid.SampledFrom(policies[0].Rules).Draw(t, "window")
			r.Limit = rapid.IntRange(1, maxLimit).Draw(t, "limit")
			if s.Categories == nil {
				s.Categories = make(map[string][]policy.Rule)
			}
			s.Categories[name] = []policy.Rule{r}
		case 1:
			s.OptOut = append(s.OptOut, name)
		}
	}
}
