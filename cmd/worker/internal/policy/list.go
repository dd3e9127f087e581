package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// policyList is the answer of "worker policy list".
type policyList struct {
	Policies   []policy.Document `json:"policies"`
	Unreadable []string          `json:"unreadable,omitempty"` // written by a newer program
}

func (c *commands) printPolicies(all []policy.Policy, unreadable []string) error {
	if c.asJSON {
		list := policyList{Policies: make([]policy.Document, len(all)), Unreadable: unreadable}
		for i, policy := range all {
			list.Policies[i] = policy.Document().Spelled()
		}
		return c.PrintJSON(list)
	}
	if len(all)+len(unreadable) == 0 {
		return c.PrintHint("There are no policies yet: start a worker on the store, or give it one with worker policy apply FILE.\n")
	}
	var s strings.Builder
	table := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tRULES\tTIME ZONE\tQUIET HOURS")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\n", p.Name, p.Version, rulesCell(p), zoneCell(p), cmp.Or(p.QuietHours.String(), policyview.None))
	}
	for _, name := range unreadable {
		fmt.Fprintf(table, "%s\t?\tcan't be read: apply it anew, or run the newer program that wrote it\t\t\n", name)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	return c.Print(s.String())
}

// rulesCell returns all rules of a policy, including those of its categories.
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
