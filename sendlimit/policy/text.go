package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
)

// String returns the rules, "1/minute, 5/hour", and everything else that is not a default. If
// AlertTo is a URL, it shows only the host.
func (p Policy) String() string {
	var s strings.Builder
	s.WriteString(JoinRules(p.Rules, ", "))
	switch zone := cmp.Or(p.TimeZone, "UTC"); {
	case p.UserTimeZone:
		fmt.Fprintf(&s, " (the user's time zone, else %s)", zone)
	case zone != "UTC":
		fmt.Fprintf(&s, " (%s)", zone)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		fmt.Fprintf(&s, ", %s %s", name, p.Categories[name])
	}
	switch {
	case len(p.Categories) > 0 && p.unknownCategories() == AllowUnknown:
		s.WriteString(", other categories allowed")
	case len(p.Categories)+len(p.Changes) == 0 && p.unknownCategories() == RefuseUnknown:
		s.WriteString(", no categories allowed")
	}
	s.WriteString(labelled(", quiet ", p.QuietHours.String(), ""))
	s.WriteString(labelled(", only ", p.Only.String(), ""))
	s.WriteString(labelled(", never on ", p.Blackouts.String(), ""))
	if p.Reach != 0 {
		fmt.Fprintf(&s, ", at most %s ahead", FormatReach(p.Reach))
	}
	if p.OnConflict == Shift {
		s.WriteString(", shifted on conflict")
	}
	if p.ShiftSpread > 0 {
		fmt.Fprintf(&s, ", shifts out of quiet times spread over %s", calendar.FormatDuration(p.ShiftSpread))
	}
	if p.Late > 0 {
		fmt.Fprintf(&s, ", sent now if up to %s late", calendar.FormatDuration(p.Late))
	}
	if p.AccountShare > 0 {
		fmt.Fprintf(&s, ", at most %d%% of each rule for one account", p.AccountShare)
	}
	s.WriteString(p.unusualAlerts())
	for _, c := range p.Changes {
		fmt.Fprintf(&s, "; %s", p.DescribeChange(c, UserSettings{}))
	}
	return s.String()
}

// String returns the rules in words: "2/calendar_day", "exempt for acme only".
func (c CategoryRules) String() string {
	if len(c.Accounts) == 0 {
		return c.limits()
	}
	return c.limits() + " for " + strings.Join(c.Accounts, " and ") + " only"
}

// limits returns the rules without the accounts.
func (c CategoryRules) limits() string {
	switch {
	case c.Exempt && c.Uncounted:
		return "exempt and not counted"
	case c.Exempt:
		return "exempt"
	}
	var parts []string
	if len(c.Rules) > 0 {
		parts = append(parts, JoinRules(c.Rules, " and "))
	}
	if c.QuietHours != nil {
		parts = append(parts, labelled("quiet ", c.QuietHours.String(), "no quiet hours"))
	}
	if c.Only != nil {
		parts = append(parts, labelled("only ", c.Only.String(), "at all hours"))
	}
	if c.Blackouts != nil {
		parts = append(parts, labelled("never on ", c.Blackouts.String(), "no blackouts"))
	}
	if c.ShiftSpread != nil {
		parts = append(parts, "shifts spread over "+calendar.FormatDuration(*c.ShiftSpread))
	}
	if !c.Throttle.IsZero() {
		parts = append(parts, c.Throttle.String()+" over all users")
	}
	return strings.Join(parts, " and ")
}

// labelled returns a text with a label before it, or `empty` if the text is empty.
func labelled(label, text, empty string) string {
	if text == "" {
		return empty
	}
	return label + text
}

// JoinRules joins rules with a separator.
func JoinRules(rules []Rule, separator string) string {
	return strings.Join(ruleTexts(rules), separator)
}
