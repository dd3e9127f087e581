package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// MaxChanges is the largest number of dated changes in a policy.
const MaxChanges = 20

// DatedChange changes a policy for the send times in [From, Until). Nil fields leave the policy's
// part unchanged. The throttles and the accounts of its categories never change.
type DatedChange struct {
	From, Until time.Time // zero means no begin, or no end
	Rules       []Rule
	QuietHours  *WeekHours
	Only        *WeekHours
	Blackouts   *Blackouts
	Categories  map[string]CategoryRules
}

// ChangeDocument is a DatedChange in a Document.
type ChangeDocument struct {
	From       string                      `json:"from,omitempty" doc:"The first send time: RFC 3339, or a date, which begins at midnight in the policy's time zone; absent for no begin."`
	Until      string                      `json:"until,omitempty" doc:"The end of the send times, which is not included; absent for no end."`
	Rules      []string                    `json:"rules,omitzero" doc:"The rules then; absent for those of the policy."`
	QuietHours []string                    `json:"quiet_hours,omitzero" doc:"The quiet hours then; absent for those of the policy."`
	Only       []string                    `json:"only,omitzero" doc:"The only hours then; absent for those of the policy."`
	Blackouts  []string                    `json:"blackouts,omitzero" doc:"The blackout dates then; absent for those of the policy."`
	Categories map[string]CategoryDocument `json:"categories,omitzero" doc:"All categories then; absent for those of the policy."`
}

// During returns the policy with one of its Changes, and without dated changes.
func (p Policy) During(change DatedChange) Policy {
	p.UnknownCategories, p.Changes = p.unknownCategories(), nil
	if change.Rules != nil {
		p.Rules = change.Rules
	}
	p.QuietHours, p.Only = *cmp.Or(change.QuietHours, &p.QuietHours), *cmp.Or(change.Only, &p.Only)
	p.Blackouts = *cmp.Or(change.Blackouts, &p.Blackouts)
	if change.Categories != nil {
		before := p.Categories
		p.Categories = maps.Clone(change.Categories)
		for name, c := range p.Categories {
			c.Throttle, c.Accounts = before[name].Throttle, before[name].Accounts
			p.Categories[name] = c
		}
	}
	return p
}

// Naming returns a part of a policy with every category of the whole policy, so that no part
// refuses it. A category that is missing in the part gets no rules there.
func (p Policy) Naming(whole Policy) Policy {
	if len(whole.Changes) == 0 {
		return p
	}
	all := []map[string]CategoryRules{whole.Categories}
	for _, c := range whole.Changes {
		all = append(all, c.Categories)
	}
	categories := make(map[string]CategoryRules)
	for _, some := range all {
		for name := range some {
			c := p.Categories[name]
			c.Throttle, c.Accounts = whole.Categories[name].Throttle, whole.Categories[name].Accounts
			categories[name] = c
		}
	}
	if p.Changes = nil; len(categories) > 0 {
		p.Categories = categories
	}
	return p
}

// Covers reports whether a send time is in [From, Until).
func (c DatedChange) Covers(at time.Time) bool {
	return (c.From.IsZero() || !at.Before(c.From)) && (c.Until.IsZero() || at.Before(c.Until))
}

func (c DatedChange) overlaps(other DatedChange) bool {
	return (c.Until.IsZero() || other.From.IsZero() || other.From.Before(c.Until)) &&
		(other.Until.IsZero() || c.From.IsZero() || c.From.Before(other.Until))
}

func (c DatedChange) equal(other DatedChange) bool {
	return c.From.Equal(other.From) && c.Until.Equal(other.Until) &&
		(c.Rules == nil) == (other.Rules == nil) && (c.Categories == nil) == (other.Categories == nil) &&
		equalOrNil(c.QuietHours, other.QuietHours) && equalOrNil(c.Only, other.Only) && equalOrNil(c.Blackouts, other.Blackouts) &&
		(Policy{}).During(c).Equal((Policy{}).During(other))
}

// changesField returns the name of a change's field, for errors; "" for the change itself.
func changesField(i int, field string) string {
	return strings.TrimSuffix("changes."+strconv.Itoa(i+1)+"."+field, ".")
}

// readChange reads a dated change of a policy in a time zone. Errors name the change.
func (d ChangeDocument) readChange(i int, zone *time.Location) (DatedChange, fault.InvalidErrors) {
	document := Document{QuietHours: d.QuietHours, Only: d.Only, Blackouts: d.Blackouts, Rules: d.Rules, Categories: d.Categories}
	p, wrong := document.readParts()
	var change DatedChange
	for _, bound := range []struct {
		field, written string
		into           *time.Time
	}{{"from", d.From, &change.From}, {"until", d.Until, &change.Until}} {
		if bound.written == "" {
			continue
		}
		at, err := readInstant(bound.field, bound.written, zone)
		wrong.Add(err)
		*bound.into = at
	}
	if d.Rules != nil {
		change.Rules = append([]Rule{}, p.Rules...)
	}
	change.QuietHours, change.Only = ifGiven(d.QuietHours, p.QuietHours), ifGiven(d.Only, p.Only)
	change.Blackouts = ifGiven(d.Blackouts, p.Blackouts)
	if d.Categories != nil {
		change.Categories = p.Categories
		if change.Categories == nil {
			change.Categories = map[string]CategoryRules{}
		}
	}
	return change, inChange(i, wrong)
}

// inChange adds the name of the change to errors about its fields.
func inChange(i int, wrong fault.InvalidErrors) fault.InvalidErrors {
	var named fault.InvalidErrors
	for _, w := range wrong {
		says := w.Says
		if says != "" {
			says = fmt.Sprintf("in %s: %s", changesField(i, ""), says)
		}
		named = append(named, &fault.InvalidError{Field: changesField(i, w.Field), Value: w.Value, Want: w.Want, Says: says})
	}
	return named
}

// readInstant reads an RFC 3339 time, or a date, which begins at midnight of the zone.
func readInstant(field, written string, zone *time.Location) (time.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, written, zone); err == nil && at.Year() >= 1970 {
		return at.UTC(), nil
	}
	at, err := calendar.ParseTime(written, nil)
	if err != nil || at.Year() < 1970 {
		return time.Time{}, &fault.InvalidError{
			Field: field, Value: written, Want: "a date such as 2027-01-01, or a time such as 2027-01-01T18:00:00Z",
		}
	}
	return at, nil
}

// spelledInstant returns a time as readInstant reads it; "" for zero.
func spelledInstant(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	local := at.In(zone)
	if midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, zone); midnight.Equal(at) {
		return local.Format(time.DateOnly)
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// document returns the change in JSON's form.
func (c DatedChange) document(zone *time.Location) ChangeDocument {
	d := ChangeDocument{
		From: spelledInstant(c.From, zone), Until: spelledInstant(c.Until, zone),
		QuietHours: linesOf(c.QuietHours), Only: linesOf(c.Only), Blackouts: linesOf(c.Blackouts),
	}
	if c.Rules != nil {
		d.Rules = ruleTexts(c.Rules)
	}
	if c.Categories != nil {
		d.Categories = categoryDocuments(c.Categories)
	}
	return d
}

// DescribeChange returns when a change applies, and the rules of a user then, in words.
func (p Policy) DescribeChange(c DatedChange, s UserSettings) string {
	zone, err := p.Location()
	if err != nil {
		zone = time.UTC
	}
	var when []string
	if !c.From.IsZero() {
		when = append(when, "from "+spelledInstant(c.From, zone))
	}
	if !c.Until.IsZero() {
		when = append(when, "until "+spelledInstant(c.Until, zone))
	}
	then := p.During(c).For(s)
	then.TimeZone, then.UserTimeZone, then.Reach, then.OnConflict, then.AlertAt, then.AlertTo = "", false, 0, "", nil, ""
	then.UnknownCategories, then.Late, then.ShiftSpread = "", 0, 0
	return strings.Join(when, " ") + ": " + then.String()
}

// validateChanges checks that each change gives a valid policy, and that no two changes overlap.
func (p Policy) validateChanges() error {
	if len(p.Changes) > MaxChanges {
		return &fault.InvalidError{
			Field: "changes", Says: fmt.Sprintf("there are %d changes: a policy has at most %d", len(p.Changes), MaxChanges),
		}
	}
	var wrong fault.InvalidErrors
	for i, c := range p.Changes {
		field := changesField(i, "")
		if c.From.IsZero() && c.Until.IsZero() {
			wrong.Add(&fault.InvalidError{Field: field, Value: "{}", Says: field + " needs from, until or both: without them, change the policy itself"})
		}
		if !c.From.IsZero() && !c.Until.IsZero() && !c.Until.After(c.From) {
			wrong.Add(&fault.InvalidError{Field: changesField(i, "until"), Value: c.Until.Format(time.RFC3339), Want: "a time after from"})
		}
		if j := slices.IndexFunc(p.Changes[:i], c.overlaps); j >= 0 {
			wrong.Add(&fault.InvalidError{Field: field, Value: "", Says: fmt.Sprintf("%s and %s apply at the same time: only one may", changesField(j, ""), field)})
		}
		for _, name := range slices.Sorted(maps.Keys(c.Categories)) {
			switch category := c.Categories[name]; {
			case !category.Throttle.IsZero():
				wrong.Add(&fault.InvalidError{
					Field: changesField(i, "categories."+name+".throttle"), Value: category.Throttle.String(),
					Says: changesField(i, "categories."+name) + " has a throttle: only the policy's own categories may, at all times",
				})
			case len(category.Accounts) > 0:
				wrong.Add(&fault.InvalidError{
					Field: changesField(i, "categories."+name+".accounts"), Value: strings.Join(category.Accounts, ", "),
					Says: changesField(i, "categories."+name) + " has accounts: only the policy's own categories may, at all times",
				})
			case category.Exempt && !p.Categories[name].Throttle.IsZero():
				wrong.Add(&fault.InvalidError{
					Field: changesField(i, "categories."+name+".exempt"), Value: "true",
					Says: changesField(i, "categories."+name) + " is exempt, and the category has a throttle: give one of the two",
				})
			}
		}
		var own, base fault.InvalidErrors
		own.Add(p.During(c).Validate())
		without := p
		without.Changes = nil
		base.Add(without.Validate())
		for _, w := range inChange(i, own) { // skip errors of the policy itself
			if !slices.ContainsFunc(base, func(b *fault.InvalidError) bool { return changesField(i, b.Field) == w.Field && b.Value == w.Value }) {
				wrong.Add(w)
			}
		}
	}
	return wrong.Err()
}
