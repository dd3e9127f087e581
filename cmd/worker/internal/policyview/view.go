package policyview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// YAML returns a policy in the format of "sendlimit-worker policy apply", with its version: so it
// replaces only that version.
func YAML(d policy.Document) (string, error) {
	inOneLine := yaml.CustomMarshaler(func(percents []int) ([]byte, error) { return []byte("[" + joinPercents(percents) + "]"), nil })
	text, err := yaml.MarshalWithOptions(d, yaml.IndentSequence(true), inOneLine)
	if err != nil {
		return "", fmt.Errorf("formatting the policy: %w", err)
	}
	return string(text), nil
}

// Difference is a field in which two policies differ. An empty field is None.
type Difference struct{ Name, Old, New string }

// Differences returns the changed fields between a policy and its predecessor, in display order. A
// nil old means no policy.
func Differences(old *policy.Policy, now policy.Policy) []Difference {
	var before []field
	if old != nil {
		before = fieldsOf(*old)
	}
	after := fieldsOf(now)
	var all []Difference
	for _, name := range mergeNames(before, after) {
		d := Difference{Name: name, Old: valueOf(before, name), New: valueOf(after, name)}
		if d.Old == d.New {
			continue
		}
		if name == alertTo {
			d = d.redact()
		}
		all = append(all, d)
	}
	return all
}

// redact hides secrets in a difference of contacts. If two URLs of one host then look the same, it
// marks the new one as changed.
func (d Difference) redact() Difference {
	d.Old, d.New = policy.RedactContact(d.Old), policy.RedactContact(d.New)
	if d.Old == d.New {
		d.New += " (changed)"
	}
	return d
}

// alertTo is the field with a contact, which may contain a secret.
const alertTo = "alert_to"

// field is a field of a policy in one line. An empty field has the value "".
type field struct{ name, value string }

func fieldsOf(p policy.Policy) []field {
	d := p.Document().Spelled()
	fields := []field{
		{"time_zone", d.TimeZone},
		{"user_time_zone", strconv.FormatBool(d.UserTimeZone)},
		{"rules", strings.Join(d.Rules, ", ")},
		{"quiet_hours", strings.Join(d.QuietHours, " and ")},
		{"only", strings.Join(d.Only, " and ")},
		{"blackouts", strings.Join(d.Blackouts, ", ")},
		{"reach", d.Reach},
		{"on_conflict", d.OnConflict},
		{"shift_spread", d.ShiftSpread},
		{"late", d.Late},
		{"account_share", d.AccountShare},
		{"alert_at", joinPercents(d.AlertAt)},
		{alertTo, d.AlertTo},
	}
	if d.UnknownCategories != "" {
		fields = append(fields, field{"unknown_categories", d.UnknownCategories})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Calendars)) {
		fields = append(fields, field{"calendars." + name, strings.Join(d.Calendars[name], ", ")})
	}
	for i, change := range p.Changes {
		fields = append(fields, field{"changes." + strconv.Itoa(i+1), p.DescribeChange(change, policy.UserSettings{})})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		fields = append(fields, field{"categories." + name, p.Categories[name].String()})
	}
	return fields
}

func joinPercents(percents []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(percents), "[]"), " ", ", ")
}

// mergeNames returns the names of both, each once.
func mergeNames(before, after []field) []string {
	var names []string
	for _, field := range slices.Concat(after, before) {
		if !slices.Contains(names, field.name) {
			names = append(names, field.name)
		}
	}
	return names
}

func valueOf(fields []field, name string) string {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return None
	}
	return cmp.Or(fields[i].value, None)
}

// None is shown for an empty field.
const None = "none"
