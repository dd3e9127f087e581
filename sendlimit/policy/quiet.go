package policy

import (
	"cmp"
	"slices"
)

// Quiet has the times at which messages of one kind are not sent to a user: hours of the week, and
// dates. The zero value has none. It is immutable; Table prepares it for use.
type Quiet struct {
	hours WeekHours  // the policy's or the category's
	own   WeekHours  // the user's
	only  WeekHours  // if it has lines, all other hours are quiet
	dates Blackouts  // without names of calendars
	week  []interval // all quiet minutes
}

// Quiet returns the quiet times of a category, "" for none, for a user with these quiet hours.
// Fields of the category replace those of the policy. The user's hours apply in addition. The
// user's hours apply beside it.
func (p Policy) Quiet(category string, own WeekHours) Quiet {
	c := p.Categories[category]
	if c.Exempt {
		return Quiet{}
	}
	q := Quiet{
		hours: *cmp.Or(c.QuietHours, &p.QuietHours), only: *cmp.Or(c.Only, &p.Only), own: own,
		dates: cmp.Or(c.Blackouts, &p.Blackouts).with(p.Calendars),
	}
	spans := slices.Concat(q.hours.week, q.own.week)
	if !q.only.IsZero() {
		spans = append(spans, others(q.only.week)...)
	}
	q.week = merge(spans)
	return q
}

// HasQuiet reports whether the category has quiet times of its own.
func (c CategoryRules) HasQuiet() bool {
	return c.QuietHours != nil || c.Only != nil || c.Blackouts != nil
}

// IsZero reports whether no time is quiet.
func (q Quiet) IsZero() bool { return len(q.week) == 0 && q.dates.IsZero() }

// Always reports whether the whole week is quiet, so that nothing could be sent.
func (q Quiet) Always() bool { return wholeWeek(q.week) }

// Lines returns the lines of the quiet hours and dates as they were written, with a prefix for only
// and blackouts: "22:00-08:00", "only 09:00-20:00", "blackout 12-25".
func (q Quiet) Lines() []string {
	lines := append(q.hours.Lines(), q.own.Lines()...)
	if !q.only.IsZero() {
		lines = append(lines, onlyLine(q.only))
	}
	for _, line := range q.dates.Lines() {
		lines = append(lines, blackoutWord+line)
	}
	return lines
}

const blackoutWord = "blackout "

func onlyLine(h WeekHours) string { return "only " + h.String() }
