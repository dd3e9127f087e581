package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/goccy/go-yaml"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// policyYAML is a policy in YAML, as policy apply reads it: its version, which only
// the store gives, is in a comment.
func policyYAML(d policy.Document) (string, error) {
	version := d.Version
	d.Version = 0
	inOneLine := yaml.CustomMarshaler(func(percents []int) ([]byte, error) { return []byte("[" + joinPercents(percents) + "]"), nil })
	text, err := yaml.MarshalWithOptions(d, yaml.IndentSequence(true), inOneLine)
	if err != nil {
		return "", fmt.Errorf("spelling the policy: %w", err)
	}
	return fmt.Sprintf("# version %d\n%s", version, text), nil
}

// policyDifference is a field that is not the same in two policies; nothing in it
// is "none".
type policyDifference struct {
	name, old, new string
	width          int // of the longest name
}

// policyDifferences are the fields in which a policy differs from the one that it
// replaces, nil for none, in the order in which they are shown.
func policyDifferences(old *policy.Policy, now policy.Policy) []policyDifference {
	var before []policyField
	if old != nil {
		before = policyFields(*old)
	}
	after := policyFields(now)
	var all []policyDifference
	width := 0
	for _, field := range mergeFields(before, after) {
		d := policyDifference{name: field, old: valueOf(before, field), new: valueOf(after, field)}
		if d.old == d.new {
			continue
		}
		if field == alertTo {
			d = d.redacted()
		}
		all = append(all, d)
		width = max(width, len(field))
	}
	for i := range all {
		all[i].width = width
	}
	return all
}

// redacted is a difference of contacts as it may be shown. Of two URLs of one host
// it says that they are not the same.
func (d policyDifference) redacted() policyDifference {
	d.old, d.new = policy.RedactContact(d.old), policy.RedactContact(d.new)
	if d.old == d.new {
		d.new += " (changed)"
	}
	return d
}

// alertTo is the field with a contact, of which not all may be shown.
const alertTo = "alert_to"

// policyField is a field of a policy in one line; value is "" where there is nothing
// in it.
type policyField struct{ name, value string }

func policyFields(p policy.Policy) []policyField {
	d := p.Document().Spelled()
	fields := []policyField{
		{"time_zone", d.TimeZone},
		{"user_time_zone", strconv.FormatBool(d.UserTimeZone)},
		{"rules", strings.Join(d.Rules, ", ")},
		{"quiet_hours", strings.Join(d.QuietHours, " and ")},
		{"reach", d.Reach},
		{"on_conflict", d.OnConflict},
		{"alert_at", joinPercents(d.AlertAt)},
		{alertTo, d.AlertTo},
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		fields = append(fields, policyField{"categories." + name, p.Categories[name].String()})
	}
	return fields
}

func joinPercents(percents []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(percents), "[]"), " ", ", ")
}

// mergeFields are the names of both, each once.
func mergeFields(before, after []policyField) []string {
	var names []string
	for _, field := range slices.Concat(after, before) {
		if !slices.Contains(names, field.name) {
			names = append(names, field.name)
		}
	}
	return names
}

func valueOf(fields []policyField, name string) string {
	i := slices.IndexFunc(fields, func(f policyField) bool { return f.name == name })
	if i < 0 {
		return none
	}
	return cmp.Or(fields[i].value, none)
}

// none is what a sentence has where there is nothing.
const none = "none"

// policyList is the answer to policy list.
type policyList struct {
	Policies   []policy.Document `json:"policies"`
	Unreadable []string          `json:"unreadable,omitempty"` // which a newer program wrote
}

func (c *policyCommands) printPolicies(all []policy.Policy, unreadable []string) error {
	if c.asJSON {
		list := policyList{Policies: make([]policy.Document, len(all)), Unreadable: unreadable}
		for i, policy := range all {
			list.Policies[i] = policy.Document().Spelled()
		}
		return c.printJSON(list)
	}
	if len(all)+len(unreadable) == 0 {
		return c.print("There are no policies yet: start a worker on the store, or give it one with worker policy apply FILE.\n")
	}
	var s strings.Builder
	table := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tRULES\tTIME ZONE\tQUIET HOURS")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", p.Name, p.Version, rulesCell(p), zoneCell(p), cmp.Or(p.QuietHours.String(), none))
	}
	for _, name := range unreadable {
		fmt.Fprintf(table, "%s\t?\tcan't be read: apply it anew, or run the newer program that wrote it\t\t\n", name)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	return c.print(s.String())
}

// rulesCell are all rules of a policy, those of its categories included.
func rulesCell(p policy.Policy) string {
	cell := []string{strings.Join(p.Document().Rules, ", ")}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		cell = append(cell, name+" "+p.Categories[name].String())
	}
	return strings.Join(cell, "; ")
}

func zoneCell(p policy.Policy) string {
	zone := cmp.Or(p.TimeZone, "UTC")
	if p.UserTimeZone {
		return "the user's, else " + zone
	}
	return zone
}
