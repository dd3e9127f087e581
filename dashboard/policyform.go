package dashboard

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// policyForm is the form for a policy. A list has a line for each entry.
type policyForm struct {
	Name, Version                         string
	Rules, QuietHours, Only, Blackouts    string
	TimeZone                              string
	UserTimeZone                          bool
	Reach, OnConflict, Late, AccountShare string
	ShiftSpread                           string
	AlertAt, AlertTo                      string
	UnknownCategories                     string
	Categories                            []categoryForm
	Calendars, Changes                    string // JSON

	// Wrong has the error of each field, by its name in the form.
	Wrong map[string][]string
}

// categoryForm is a category in the form. A category without a name is ignored.
type categoryForm struct {
	Name, Rules                     string
	Exempt, Uncounted               bool
	QuietHours, Only, Blackouts     string
	OwnQuiet, OwnOnly, OwnBlack     bool // what is empty replaces the policy's
	Throttle, Accounts, ShiftSpread string
}

// emptyCategories is how many empty categories the form has.
const emptyCategories = 1

func policyFormOf(p message.Policy) policyForm {
	f := policyForm{
		Name: p.Name, Rules: lines(p.Rules), QuietHours: lines(p.QuietHours), Only: lines(p.Only), Blackouts: lines(p.Blackouts),
		TimeZone: p.TimeZone, UserTimeZone: p.UserTimeZone, Reach: p.Reach, OnConflict: p.OnConflict, ShiftSpread: p.ShiftSpread, Late: p.Late, AccountShare: p.AccountShare, AlertTo: p.AlertTo,
		UnknownCategories: p.UnknownCategories, Version: text(p.Version),
	}
	for i, percent := range p.AlertAt {
		if i > 0 {
			f.AlertAt += ", "
		}
		f.AlertAt += strconv.Itoa(percent)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		c := p.Categories[name]
		f.Categories = append(f.Categories, categoryForm{
			Name: name, Rules: lines(c.Rules), Exempt: c.Exempt, Uncounted: c.Counts != nil && !*c.Counts, Throttle: c.Throttle, ShiftSpread: c.ShiftSpread, Accounts: strings.Join(c.Accounts, " "),
			QuietHours: lines(c.QuietHours), Only: lines(c.Only), Blackouts: lines(c.Blackouts),
			OwnQuiet: c.QuietHours != nil, OwnOnly: c.Only != nil, OwnBlack: c.Blackouts != nil,
		})
	}
	f.addRoom()
	if len(p.Calendars) > 0 {
		f.Calendars = indented(p.Calendars)
	}
	if len(p.Changes) > 0 {
		f.Changes = indented(p.Changes)
	}
	return f
}

// addRoom adds empty categories, to be filled in.
func (f *policyForm) addRoom() {
	for range emptyCategories {
		f.Categories = append(f.Categories, categoryForm{})
	}
}

func lines(list []string) string { return strings.Join(list, "\n") }

func indented(value any) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// readPolicyForm reads the form of a request.
func readPolicyForm(r *http.Request) policyForm {
	value := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	f := policyForm{
		Name: value("name"), Version: value("version"), Rules: value("rules"), QuietHours: value("quiet_hours"), Only: value("only"), Blackouts: value("blackouts"),
		TimeZone: value("time_zone"), UserTimeZone: value("user_time_zone") == "yes", Reach: value("reach"), OnConflict: value("on_conflict"), ShiftSpread: value("shift_spread"), Late: value("late"), AccountShare: value("account_share"),
		AlertAt: value("alert_at"), AlertTo: value("alert_to"), UnknownCategories: value("unknown_categories"),
		Calendars: value("calendars"), Changes: value("changes"),
	}
	for i := range min(len(r.PostForm["category"]), policy.MaxCategories+emptyCategories) {
		of := func(field string) string {
			if values := r.PostForm["category_"+field]; i < len(values) {
				return strings.TrimSpace(values[i])
			}
			return ""
		}
		number := strconv.Itoa(i)
		c := categoryForm{
			Name: strings.TrimSpace(r.PostForm["category"][i]), Rules: of("rules"), QuietHours: of("quiet_hours"), Only: of("only"), Blackouts: of("blackouts"),
			Throttle: of("throttle"), ShiftSpread: of("shift_spread"), Accounts: of("accounts"), Exempt: value("exempt_"+number) == "yes", Uncounted: value("uncounted_"+number) == "yes",
			OwnQuiet: value("own_quiet_"+number) == "yes", OwnOnly: value("own_only_"+number) == "yes", OwnBlack: value("own_blackouts_"+number) == "yes",
		}
		if c.Name != "" || c.Rules != "" {
			f.Categories = append(f.Categories, c)
		}
	}
	f.addRoom()
	return f
}

// condition makes the API apply the policy only if the version of the form is still the present
// one.
func (f policyForm) condition() client.Condition {
	if f.Version == "" || f.Version == "0" {
		return client.IfNone()
	}
	return client.IfVersion(f.Version)
}

// check returns the policy of the form. It notes each error with its field.
func (f *policyForm) check() (policy.Document, bool) {
	f.Wrong = make(map[string][]string)
	d := policy.Document{
		Name: f.Name, Rules: fields(f.Rules), QuietHours: fields(f.QuietHours), Only: fields(f.Only), Blackouts: fields(f.Blackouts),
		TimeZone: f.TimeZone, UserTimeZone: f.UserTimeZone, Reach: f.Reach, OnConflict: f.OnConflict, ShiftSpread: f.ShiftSpread, Late: f.Late, AccountShare: f.AccountShare, AlertTo: f.AlertTo,
		UnknownCategories: f.UnknownCategories,
	}
	if d.Rules == nil {
		d.Rules = []string{}
	}
	alerts, err := percents(f.AlertAt)
	if err != nil {
		f.wrong("alert_at", problemOf(err).Sentence())
	}
	d.AlertAt = alerts
	f.readJSON("calendars", f.Calendars, &d.Calendars)
	f.readJSON("changes", f.Changes, &d.Changes)
	for _, c := range f.Categories {
		if c.Name == "" {
			if c.Rules != "" {
				f.wrong("categories", "A category has rules but no name.")
			}
			continue
		}
		if d.Categories == nil {
			d.Categories = make(map[string]policy.CategoryDocument)
		}
		if _, twice := d.Categories[c.Name]; twice {
			f.wrong("categories", "Duplicate category "+c.Name+".")
		}
		d.Categories[c.Name] = c.document()
	}
	_, err = d.Policy()
	f.noteAll(err)
	d.Name = "" // the address has it
	return d, len(f.Wrong) == 0
}

func (c categoryForm) document() policy.CategoryDocument {
	d := policy.CategoryDocument{Rules: fields(c.Rules), Exempt: c.Exempt, Throttle: c.Throttle, ShiftSpread: c.ShiftSpread, Accounts: strings.Fields(c.Accounts)}
	if c.Uncounted {
		d.Counts = new(bool)
	}
	own := func(replaces bool, list string) []string {
		if !replaces && list == "" {
			return nil
		}
		return append([]string{}, fields(list)...)
	}
	d.QuietHours, d.Only, d.Blackouts = own(c.OwnQuiet, c.QuietHours), own(c.OwnOnly, c.Only), own(c.OwnBlack, c.Blackouts)
	return d
}

// readJSON reads a field with JSON.
func (f *policyForm) readJSON(field, text string, into any) {
	if text == "" {
		return
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		f.wrong(field, sentence("invalid JSON: "+err.Error()))
	}
}

func (f *policyForm) wrong(field, says string) { f.Wrong[field] = append(f.Wrong[field], says) }

// noteAll notes each part of an error at its field.
func (f *policyForm) noteAll(err error) {
	if err == nil {
		return
	}
	if several, ok := errors.AsType[fault.InvalidErrors](err); ok {
		for _, one := range several {
			f.wrong(placeOf(one.Field), sentence(one.Error()))
		}
		return
	}
	one, ok := errors.AsType[*fault.InvalidError](err)
	if !ok {
		f.wrong("rules", sentence(err.Error()))
		return
	}
	f.wrong(placeOf(one.Field), sentence(one.Error()))
}

// placeOf returns the field of the form for a field of a policy: "categories" for
// "categories.news.rules".
func placeOf(field string) string {
	if i := strings.IndexAny(field, ".["); i >= 0 {
		field = field[:i]
	}
	switch field {
	case "rules", "quiet_hours", "only", "blackouts", "time_zone", "reach", "on_conflict", "shift_spread", "late", "account_share", "alert_at", "alert_to", "unknown_categories", "categories", "calendars", "changes", "name":
		return field
	default:
		return "rules"
	}
}
