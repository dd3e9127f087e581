package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Document is a policy as files, the store and the API have it. What is as
// usual may be left out: a time zone of UTC, alerts at 80 and 100 percent.
//
// A program ignores fields that only a newer one knows, so that both can go by
// one store while programs are replaced: until then it judges by the rules that
// it does know. Whoever writes a document for people to correct should refuse
// them.
type Document struct {
	Name         string                      `json:"name,omitempty"`
	TimeZone     string                      `json:"time_zone,omitempty"`
	UserTimeZone bool                        `json:"user_time_zone,omitempty"`
	Rules        []string                    `json:"rules"`                 // as ParseRule reads them
	QuietHours   []string                    `json:"quiet_hours,omitempty"` // as ParseQuietHours reads them
	Reach        string                      `json:"reach,omitempty"`       // as ParseReach reads it
	OnConflict   string                      `json:"on_conflict,omitempty"`
	AlertAt      []int                       `json:"alert_at,omitzero"` // left out it is the usual, and empty never
	AlertTo      string                      `json:"alert_to,omitempty"`
	Categories   map[string]CategoryDocument `json:"categories,omitempty"`
	Version      int64                       `json:"version,omitempty"`
}

// CategoryDocument is what a PolicyDocument has for a category.
type CategoryDocument struct {
	Rules  []string `json:"rules,omitempty"`
	Exempt bool     `json:"exempt,omitempty"`
	Counts *bool    `json:"counts,omitempty"` // false only beside exempt; left out it is true
}

// Document returns the policy as it is written, without what is as usual.
func (p Policy) Document() Document {
	d := Document{
		Name: p.Name, UserTimeZone: p.UserTimeZone, Rules: ruleTexts(p.Rules),
		QuietHours: p.QuietHours.Lines(), AlertTo: p.AlertTo, Version: p.Version,
	}
	if p.TimeZone != "UTC" {
		d.TimeZone = p.TimeZone
	}
	if p.Reach != 0 {
		d.Reach = FormatReach(p.Reach)
	}
	if p.OnConflict != Refuse {
		d.OnConflict = string(p.OnConflict)
	}
	if !slices.Equal(p.thresholds(), DefaultAlertAt()) {
		d.AlertAt = p.AlertAt
	}
	if len(p.Categories) == 0 {
		return d
	}
	d.Categories = make(map[string]CategoryDocument, len(p.Categories))
	for name, c := range p.Categories {
		category := CategoryDocument{Exempt: c.Exempt}
		if len(c.Rules) > 0 {
			category.Rules = ruleTexts(c.Rules)
		}
		if c.Uncounted {
			category.Counts = new(bool)
		}
		d.Categories[name] = category
	}
	return d
}

func ruleTexts(rules []Rule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = r.String()
	}
	return texts
}

// Spelled returns the document with what is as usual spelled out, to be shown:
// time_zone, on_conflict and alert_at.
func (d Document) Spelled() Document {
	if d.TimeZone == "" {
		d.TimeZone = "UTC"
	}
	if d.OnConflict == "" {
		d.OnConflict = string(Refuse)
	}
	if d.AlertAt == nil {
		d.AlertAt = DefaultAlertAt()
	}
	return d
}

// Policy returns the policy that the document says, one that a PolicyStore takes.
// The error is an *InvalidError, or InvalidErrors: for the fields that are wrong in
// themselves, and then as of Policy.Validate and PolicyStore.Replace.
func (d Document) Policy() (Policy, error) {
	p, wrong := d.read()
	wrong.Add(p.ValidateWindows())
	if len(wrong) > 0 {
		return Policy{}, wrong.Err()
	}
	return p, nil
}

// read returns the policy that the document says, be it one that a PolicyStore
// refuses, and what is wrong with it.
func (d Document) read() (Policy, fault.InvalidErrors) {
	p := Policy{
		Name: d.Name, TimeZone: d.TimeZone, UserTimeZone: d.UserTimeZone,
		OnConflict: OnConflict(d.OnConflict), AlertAt: d.AlertAt, AlertTo: d.AlertTo, Version: d.Version,
	}
	if d.TimeZone == "UTC" {
		p.TimeZone = ""
	}
	if p.OnConflict == Refuse {
		p.OnConflict = ""
	}
	var unread, wrong fault.InvalidErrors
	var err error
	p.Rules, err = parseRules(d.Rules)
	unread.Add(fault.InField(err, "rules"))
	p.QuietHours, err = ParseQuietHours(d.QuietHours...)
	unread.Add(err)
	if d.Reach != "" {
		p.Reach, err = ParseReach(d.Reach)
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
	// A list of which nothing could be read is not an empty one.
	wrong.Add(p.Validate())
	wrong = slices.DeleteFunc(wrong, func(w *fault.InvalidError) bool {
		return slices.ContainsFunc(unread, func(u *fault.InvalidError) bool { return u.Field == w.Field || u.Field == w.Field+".rules" })
	})
	return p, append(unread, wrong...)
}

func (c CategoryDocument) rules(field string) (CategoryRules, error) {
	rules, err := parseRules(c.Rules)
	category := CategoryRules{Rules: rules, Exempt: c.Exempt, Uncounted: c.Counts != nil && !*c.Counts}
	return category, fault.InField(err, field+".rules")
}

// parseRules reads rules; nil where there are none. Those that can be read are
// returned beside an error, too.
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

// MarshalJSON returns the policy's Document.
func (p Policy) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(p.Document())
	if err != nil {
		return nil, fmt.Errorf("policy %q: %w", p.Name, err)
	}
	return text, nil
}

// UnmarshalJSON reads a PolicyDocument, and refuses what Policy.Validate does.
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

const wantReach = "1s to 366d in whole seconds, such as 30d, 36h or 90m"

// ParseReach reads how far ahead send times may lie: days as in "30d", or a length
// of time as Go spells it, "36h" or "1h30m". The error is an *InvalidError for the
// field "reach".
func ParseReach(s string) (time.Duration, error) {
	var reach time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		reach = time.Duration(n) * calendar.DayLong
	} else {
		reach, err = time.ParseDuration(s)
	}
	if err != nil || reach == 0 || (Policy{Reach: reach}).validateReach() != nil {
		return 0, &fault.InvalidError{Field: "reach", Value: s, Want: wantReach}
	}
	return reach, nil
}

// FormatReach spells a length of time as ParseReach reads it, in the largest unit
// of which it is a whole number: "30d", "36h".
func FormatReach(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{calendar.DayLong, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d > 0 && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	return d.String()
}
