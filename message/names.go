package message

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	maxNames     = 10 // all of them are listed
	nearestNames = 3  // how many of more are listed
)

// ThereAre returns the second half of an error about an unknown name: the known names, or the
// nearest ones if there are many.
func ThereAre(name string, known []string) string {
	switch {
	case len(known) == 0:
		return "there are none"
	case len(known) <= maxNames:
		return "there are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
	}
	distance := func(other string) int {
		if strings.Contains(other, name) || strings.Contains(name, other) { // quiet for quiet_hours
			return 0
		}
		return levenshtein.ComputeDistance(name, other)
	}
	byDistance := slices.SortedFunc(slices.Values(known), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b))
	})
	return fmt.Sprintf("the nearest of %d are %s", len(known), strings.Join(byDistance[:nearestNames], ", "))
}

// PathSegment escapes a name for a path of the API. It also escapes a name of only dots, which
// would be a step in the path.
func PathSegment(name string) string {
	escaped := url.PathEscape(name)
	if strings.Trim(escaped, ".") == "" {
		escaped = strings.ReplaceAll(escaped, ".", "%2E")
	}
	return escaped
}
