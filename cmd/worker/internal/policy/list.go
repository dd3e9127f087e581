package policy

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func (c *commands) list(all iter.Seq2[client.ListedPolicy, error]) error {
	var s strings.Builder
	table := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tRULES\tTIME ZONE\tQUIET HOURS")
	some := false
	for p, err := range all {
		switch {
		case err != nil:
			return err
		case c.JSON:
			if err := c.PrintJSON(p); err != nil {
				return err
			}
		default:
			fmt.Fprintln(table, row(p))
		}
		some = true
	}
	switch {
	case c.JSON:
		return nil
	case !some:
		return c.PrintHint("There are no policies yet: start a worker on the store, or give it one with worker policy apply FILE.\n")
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	return c.Print(s.String())
}

// row returns the cells of a policy.
func row(listed client.ListedPolicy) string {
	p, err := policy.Document(listed.Policy).Policy()
	if err != nil || listed.Unreadable {
		return listed.Name + "\t?\tcan't be read: apply it anew, or run the newer program that wrote it\t\t"
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%s", p.Name, p.Version, rulesCell(p), zoneCell(p), cmp.Or(p.QuietHours.String(), policyview.None))
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
