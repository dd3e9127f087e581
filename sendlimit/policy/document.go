package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Document is a policy in JSON: in files, in the store and in the API. Fields with their default
// may be left out.
//
// A program ignores fields of newer programs, so that both can use one store during an upgrade; it
// judges by the rules that it knows. Readers of files and requests refuse unknown fields.
type Document struct {
	Name              string                      `json:"name,omitempty" doc:"1 to 64 of a-z 0-9 _ - A request may leave it out, since it is in the address."`
	TimeZone          string                      `json:"time_zone,omitempty" doc:"The IANA time zone of calendar rules and quiet hours; by default UTC."`
	UserTimeZone      bool                        `json:"user_time_zone,omitempty" doc:"Whether calendar rules count in the user's own time zone, if it is set."`
	Rules             []string                    `json:"rules" doc:"At least one rule, such as 5/hour or 10/calendar_day, and at most one for each window. A message must fit all."`
	QuietHours        []string                    `json:"quiet_hours,omitempty" doc:"When nothing is sent, in the user's time zone: 22:00-08:00, or sat,sun 00:00-24:00."`
	Only              []string                    `json:"only,omitempty" doc:"The only hours at which anything is sent, in the user's time zone: 09:00-20:00; by default all."`
	Blackouts         []string                    `json:"blackouts,omitempty" doc:"Dates on which nothing is sent, in the user's time zone: 2027-01-01, 12-25 for every year, 2027-04-02..2027-04-05, or the name of a calendar."`
	Calendars         map[string][]string         `json:"calendars,omitempty" doc:"Lists of dates by name, which blackouts can name. A name begins with a letter."`
	Reach             string                      `json:"reach,omitempty" doc:"How far ahead a send time may lie: 1s to 366d, such as 30d or 36h; by default as far as the program allows."`
	OnConflict        string                      `json:"on_conflict,omitempty" doc:"refuse or shift, for a message without its own on_conflict whose time is not free; by default refuse."`
	ShiftSpread       string                      `json:"shift_spread,omitempty" doc:"Over how long after the end of quiet hours, or of other times at which nothing is sent, messages are spread that shift out of them: 1s to 1d, such as 30m. By default all of them take the first moment that is free."`
	Late              string                      `json:"late,omitempty" doc:"What becomes of a message without its own late whose send_at has passed: refuse; now, if it passed within a day; or how long ago it may have passed, 1s to 7d, such as 15m. Then it is sent now. By default refuse."`
	AccountShare      string                      `json:"account_share,omitempty" doc:"What percentage of each rule one account may use up for a user where several accounts are active, such as 50%, rounded up; by default all. It is judged when a message is submitted or moved."`
	AlertAt           []int                       `json:"alert_at,omitzero" doc:"Percents of a user's daily rule at which an alert is raised, 1 to 100; by default 80 and 100, empty is never."` // nil means the default
	AlertTo           string                      `json:"alert_to,omitempty" doc:"Who receives a list of users that reached such a percentage, once an hour: an e-mail address or an https: URL."`
	Categories        map[string]CategoryDocument `json:"categories,omitempty" doc:"Rules for messages of a category, by its name."`
	UnknownCategories string                      `json:"unknown_categories,omitempty" doc:"refuse or allow, for a message of a category that the policy does not name; by default refuse if it names any."`
	Changes           []ChangeDocument            `json:"changes,omitempty" doc:"Changes for the send times of some dates, at most one to each time."`
	Version           int64                       `json:"version,omitempty" doc:"Differs after each change. Ignored in a request: If-Match names the version to replace."`
}

// CategoryDocument is a category in a Document.
type CategoryDocument struct {
	Rules       []string `json:"rules,omitempty" doc:"Rules that count only messages of the category, at most one for each window, in addition to those of the policy."`
	Exempt      bool     `json:"exempt,omitempty" doc:"Whether rules and quiet hours do not apply to its messages."`
	Counts      *bool    `json:"counts,omitempty" doc:"Whether its messages count in the policy's rules. Only an exempt category may have false."` // nil means true
	QuietHours  []string `json:"quiet_hours,omitzero" doc:"When none of its messages are sent, in place of the policy's quiet_hours."`
	Only        []string `json:"only,omitzero" doc:"The only hours at which its messages are sent, in place of the policy's only."`
	Blackouts   []string `json:"blackouts,omitzero" doc:"Dates on which none of its messages are sent, in place of the policy's blackouts."`
	ShiftSpread string   `json:"shift_spread,omitempty" doc:"In place of the policy's shift_spread; 0s for none. An exempt category has none."`
	Throttle    string   `json:"throttle,omitempty" doc:"How many messages of the category all users of the policy together get in a minute or an hour of UTC, by their send times: 500/minute. Empty for no limit. An exempt category has none."`
	Accounts    []string `json:"accounts,omitempty" doc:"The accounts that may submit messages of the category; empty for all. Messages of other accounts are refused with category_reserved."`
}

// Document returns the document of the policy, without fields that have their default.
func (p Policy) Document() Document {
	d := Document{
		Name: p.Name, UserTimeZone: p.UserTimeZone, Rules: ruleTexts(p.Rules),
		QuietHours: p.QuietHours.Lines(), Only: p.Only.Lines(), Blackouts: p.Blackouts.Lines(), AlertTo: p.AlertTo, Version: p.Version,
	}
	for name, dates := range p.Calendars {
		if d.Calendars == nil {
			d.Calendars = make(map[string][]string, len(p.Calendars))
		}
		d.Calendars[name] = orEmpty(dates.Lines())
	}
	if p.TimeZone != "UTC" {
		d.TimeZone = p.TimeZone
	}
	if p.Reach != 0 {
		d.Reach = FormatReach(p.Reach)
	}
	d.AccountShare = formatAccountShare(p.AccountShare)
	if p.OnConflict != Refuse {
		d.OnConflict = string(p.OnConflict)
	}
	if p.ShiftSpread != 0 {
		d.ShiftSpread = formatShiftSpread(&p.ShiftSpread)
	}
	d.Late = formatLate(p.Late)
	if !slices.Equal(p.thresholds(), DefaultAlertAt()) {
		d.AlertAt = p.AlertAt
	}
	if unknown := (Policy{Categories: p.Categories, Changes: p.Changes}).unknownCategories(); p.unknownCategories() != unknown {
		d.UnknownCategories = string(p.UnknownCategories)
	}
	zone, err := p.Location()
	if err != nil {
		zone = time.UTC
	}
	for _, c := range p.Changes {
		d.Changes = append(d.Changes, c.document(zone))
	}
	if len(p.Categories) > 0 {
		d.Categories = categoryDocuments(p.Categories)
	}
	return d
}

func categoryDocuments(categories map[string]CategoryRules) map[string]CategoryDocument {
	documents := make(map[string]CategoryDocument, len(categories))
	for name, c := range categories {
		category := CategoryDocument{Exempt: c.Exempt, ShiftSpread: formatShiftSpread(c.ShiftSpread), Throttle: c.Throttle.String(), Accounts: c.Accounts}
		if len(c.Rules) > 0 {
			category.Rules = ruleTexts(c.Rules)
		}
		if c.Uncounted {
			category.Counts = new(bool)
		}
		category.QuietHours, category.Only, category.Blackouts = linesOf(c.QuietHours), linesOf(c.Only), linesOf(c.Blackouts)
		documents[name] = category
	}
	return documents
}

func orEmpty(lines []string) []string {
	if lines == nil {
		return []string{}
	}
	return lines
}

// linesOf returns the lines of hours or dates; nil without them.
func linesOf[T interface{ Lines() []string }](of *T) []string {
	if of == nil {
		return nil
	}
	return orEmpty((*of).Lines())
}

// ifGiven returns hours or dates that were read from lines; nil without lines.
func ifGiven[T any](lines []string, read T) *T {
	if lines == nil {
		return nil
	}
	return &read
}

func ruleTexts(rules []Rule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return texts
}

// Spelled returns the document with the defaults of time_zone, on_conflict, late, alert_at and
// unknown_categories filled in, to be shown.
func (d Document) Spelled() Document {
	if d.TimeZone == "" {
		d.TimeZone = "UTC"
	}
	if d.OnConflict == "" {
		d.OnConflict = string(Refuse)
	}
	if d.Late == "" {
		d.Late = LateRefuse
	}
	if d.AlertAt == nil {
		d.AlertAt = DefaultAlertAt()
	}
	named := len(d.Categories) > 0 || slices.ContainsFunc(d.Changes, func(c ChangeDocument) bool { return len(c.Categories) > 0 })
	if d.UnknownCategories == "" && named {
		d.UnknownCategories = string(RefuseUnknown)
	}
	return d
}

// Policy returns the policy of the document, as the store accepts it. The error is a
// *fault.InvalidError or fault.InvalidErrors with all errors: fields that can't be read, and those
// of Validate and ValidateWindows.
func (d Document) Policy() (Policy, error) {
	p, wrong := d.read()
	wrong.Add(p.ValidateWindows())
	if len(wrong) > 0 {
		return Policy{}, wrong.Err()
	}
	return p, nil
}

// read returns the policy of the document, and all errors except those of ValidateWindows.
func (d Document) read() (Policy, fault.InvalidErrors) {
	p := Policy{
		Name: d.Name, TimeZone: d.TimeZone, UserTimeZone: d.UserTimeZone,
		OnConflict: OnConflict(d.OnConflict), AlertAt: d.AlertAt, AlertTo: d.AlertTo, Version: d.Version,
		UnknownCategories: UnknownCategories(d.UnknownCategories),
	}
	if d.TimeZone == "UTC" {
		p.TimeZone = ""
	}
	if p.OnConflict == Refuse {
		p.OnConflict = ""
	}
	parts, unread := d.readParts()
	p.Rules, p.QuietHours, p.Only, p.Blackouts = parts.Rules, parts.QuietHours, parts.Only, parts.Blackouts
	p.Calendars, p.Categories, p.Reach, p.AccountShare = parts.Calendars, parts.Categories, parts.Reach, parts.AccountShare
	p.Late, p.ShiftSpread = parts.Late, parts.ShiftSpread
	zone, err := p.Location()
	if err != nil {
		zone = time.UTC // Validate refuses it
	}
	var unreadChanges []string
	for i, c := range d.Changes {
		change, wrong := c.readChange(i, zone)
		if unread = append(unread, wrong...); wrong != nil {
			unreadChanges = append(unreadChanges, changesField(i, ""))
		}
		p.Changes = append(p.Changes, change)
	}
	var wrong fault.InvalidErrors
	// Skip errors that only follow from a part that could not be read.
	wrong.Add(p.Validate())
	wrong = slices.DeleteFunc(wrong, func(w *fault.InvalidError) bool {
		return slices.ContainsFunc(unread, func(u *fault.InvalidError) bool {
			return u.Field == w.Field || u.Field == w.Field+".rules" || u.Field == w.Field+".throttle" || u.Field == w.Field+".shift_spread"
		}) ||
			slices.ContainsFunc(unreadChanges, func(c string) bool { return w.Field == c || strings.HasPrefix(w.Field, c+".") })
	})
	return p, append(unread, wrong...)
}

// readParts reads the rules, quiet times, categories and reach of the document. Its errors are
// about parts that can't be read.
func (d Document) readParts() (Policy, fault.InvalidErrors) {
	var p Policy
	var unread fault.InvalidErrors
	var err error
	p.Rules, err = parseRules(d.Rules)
	unread.Add(fault.InField(err, "rules"))
	p.QuietHours, err = ParseQuietHours(d.QuietHours...)
	unread.Add(err)
	p.Only, err = ParseAllowedHours(d.Only...)
	unread.Add(err)
	p.Blackouts, err = ParseBlackouts(d.Blackouts...)
	unread.Add(err)
	for _, name := range slices.Sorted(maps.Keys(d.Calendars)) {
		dates, err := parseBlackouts("calendars."+name, d.Calendars[name], false)
		unread.Add(err)
		if p.Calendars == nil {
			p.Calendars = make(map[string]Blackouts, len(d.Calendars))
		}
		p.Calendars[name] = dates
	}
	if d.Reach != "" {
		p.Reach, err = ParseReach(d.Reach)
		unread.Add(err)
	}
	if d.Late != "" {
		p.Late, err = ParseLate(d.Late)
		unread.Add(err)
	}
	if d.ShiftSpread != "" {
		p.ShiftSpread, err = ParseShiftSpread(d.ShiftSpread)
		unread.Add(err)
	}
	if d.AccountShare != "" {
		p.AccountShare, err = ParseAccountShare(d.AccountShare)
		unread.Add(err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Categories)) {
		category, err := d.Categories[name].rules("categories." + name)
		unread.Add(err)
		if p.Categories == nil {
			p.Categories = make(map[string]CategoryRules, len(d.Categories))
		}
		p.Categories[name] = category
	}
	return p, unread
}

func (c CategoryDocument) rules(field string) (CategoryRules, error) {
	parts, unread := Document{Rules: c.Rules, QuietHours: c.QuietHours, Only: c.Only, Blackouts: c.Blackouts, ShiftSpread: c.ShiftSpread}.readParts()
	var wrong fault.InvalidErrors
	for _, w := range unread {
		wrong.Add(fault.InField(w, field+"."+w.Field))
	}
	category := CategoryRules{
		Rules: parts.Rules, Exempt: c.Exempt, Uncounted: c.Counts != nil && !*c.Counts, QuietHours: ifGiven(c.QuietHours, parts.QuietHours),
		Only: ifGiven(c.Only, parts.Only), Blackouts: ifGiven(c.Blackouts, parts.Blackouts),
	}
	if c.ShiftSpread != "" {
		category.ShiftSpread = &parts.ShiftSpread
	}
	if len(c.Accounts) > 0 {
		category.Accounts = c.Accounts
	}
	var err error
	category.Throttle, err = ParseThrottle(c.Throttle)
	wrong.Add(fault.InField(err, field+".throttle"))
	return category, wrong.Err()
}

// ParseRules reads rules as ParseRule does; nil for none. The error is fault.InvalidErrors for the
// field.
func ParseRules(texts []string, field string) ([]Rule, error) {
	rules, err := parseRules(texts)
	return rules, fault.InField(err, field)
}

// parseRules reads rules; nil for none. With an error it returns the rules that it could read.
func parseRules(texts []string) ([]Rule, error) {
	var rules []Rule
	var wrong fault.InvalidErrors
	for _, text := range texts {
		r, err := ParseRule(text)
		wrong.Add(err)
		if err == nil {
			rules = append(rules, r)
		}
	}
	return rules, wrong.Err()
}

// MarshalJSON writes the policy's Document.
func (p Policy) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(p.Document())
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return text, nil
}

// UnmarshalJSON reads a Document and validates it as Policy.Validate does.
func (p *Policy) UnmarshalJSON(text []byte) error {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	parsed, wrong := d.read()
	if len(wrong) > 0 {
		return wrong.Err()
	}
	*p = parsed
	return nil
}
