package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// row returns the cells of a policy.
func row(listed client.ListedPolicy) []string {
	p, err := policy.Document(listed.Policy).Policy()
	if err != nil || listed.Unreadable {
		return []string{listed.Name, "?", "can't be read: apply it anew, or run the newer program that wrote it", "", ""}
	}
	return []string{p.Name, strconv.FormatInt(p.Version, 10), rulesCell(p), zoneCell(p), cmp.Or(p.QuietHours.String(), policyview.None)}
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
